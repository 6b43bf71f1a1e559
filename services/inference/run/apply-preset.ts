import { create } from '@bufbuild/protobuf'
import { AppliedPresetSchema, ToolChoice_Mode as Mode } from '#gen/portico/inference/v1/inference_pb.js'
import { Preset_Status as Status } from '#gen/portico/inference/v1/preset_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { notAppliedWarnings } from '../domain/left-out.ts'
import { shownSettings, withPreset } from '../domain/preset/apply-preset.ts'
import { namedModel } from '../domain/preset/reference.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/**
 * Fills in the settings of the preset where the request has none. The preset is read anew for each request. Rejects
 * with PRESET_NOT_FOUND, and with REQUEST_INVALID if neither names a model.
 */
export async function applyPreset(
  generation: Generation,
  { presets }: Pick<GenerationDependencies, 'presets'>,
): Promise<void> {
  const { input } = generation
  const { request } = input
  const reference = namedModel(request.model)
  const slug = reference.slug ?? request.preset
  if (slug === undefined) return
  if (reference.slug !== undefined && request.preset !== undefined) {
    throw invalid('preset', 'must be omitted if the model names one')
  }
  const preset = await presets.inUse(input.principal.workspaceId, slug)
  if (preset?.status !== Status.ACTIVE) throw new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
  const { presetId, version, systemPrompt, settings } = preset
  const model = reference.model ?? settings.model
  check(model !== undefined || !request.modelRequired, 'model', 'is required, since the preset names none')
  const completed = { ...withPreset(request, settings, systemPrompt), model }
  generation.input = { ...input, request: completed }
  const isInstructed = completed.messages === request.messages
  const view = request.showPreset
    ? { settings: shownSettings(completed), systemPrompt: isInstructed ? undefined : systemPrompt }
    : {}
  generation.preset = create(AppliedPresetSchema, { presetId, slug, version, ...view })
  generation.warnings = notAppliedWarnings(completed)
}

/**
 * Refuses a request that demands or allows calls of a tool that neither it nor its preset offers, with REQUEST_INVALID.
 */
export function requireTools({ input }: Pick<Generation, 'input'>): void {
  const { toolChoice: choice, tools, hostedTools } = input.request
  if (choice?.mode === Mode.REQUIRED) {
    check(tools.length + hostedTools.length > 0, 'tool_choice', 'requires a call, but there are no tools')
  }
  const missing = missingTool(input.request)
  check(missing === undefined, 'tool_choice', `there is no tool "${missing?.slice(0, 128)}"`)
}

/** Returns a tool that the choice names but nobody offers; undefined: none. */
function missingTool(request: Generation['input']['request']): string | undefined {
  const { toolChoice: choice, tools, hostedTools } = request
  if (choice === undefined) return undefined
  const offered = new Set(tools.map(({ name }) => name))
  const { mode, name = '' } = choice
  if (mode !== Mode.NAMED && mode !== Mode.HOSTED) {
    const { names = [], hostedTypes = [], serverLabels = [] } = choice.allowed ?? {}
    const types = new Set(hostedTools.map(({ definition }) => definition?.type))
    const labels = new Set(hostedTools.map(({ definition }) => definition?.type === 'mcp' && definition.server_label))
    return (
      names.find((name) => !offered.has(name)) ??
      hostedTypes.find((type) => !types.has(type)) ??
      serverLabels.find((label) => !labels.has(label))
    )
  }
  if (mode === Mode.NAMED) {
    const isKnown = offered.has(name) || hostedTools.some(({ definition }) => definition?.name === name)
    return isKnown ? undefined : name
  }
  // A server of MCP is chosen by its label.
  const label = choice.definition?.server_label
  const isKnown = hostedTools.some(
    ({ definition }) => definition?.type === name && (label == null || definition.server_label === label),
  )
  return isKnown ? undefined : String(label ?? name)
}

import { create } from '@bufbuild/protobuf'
import { AppliedPresetSchema } from '#gen/portico/inference/v1/inference_pb.js'
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
  { presets, readSettings }: Pick<GenerationDependencies, 'presets' | 'readSettings'>,
): Promise<void> {
  const { input } = generation
  const { request } = input
  const named = namedModel(request.model)
  const slug = named.slug ?? request.preset
  if (slug === undefined) return
  if (named.slug !== undefined && request.preset !== undefined) {
    throw invalid('preset', 'must be omitted if the model names one')
  }
  const preset = await presets.inUse(input.principal.workspaceId, slug)
  if (preset?.status !== Status.ACTIVE) throw new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
  const { presetId, version, systemPrompt } = preset
  const settings = readSettings(preset)
  const model = named.model ?? settings.model
  check(model !== undefined || !request.modelRequired, 'model', 'is required, since the preset names none')
  const completed = { ...withPreset(request, settings, systemPrompt), model }
  generation.input = { ...input, request: completed }
  const isInstructed = completed.messages === request.messages
  const shown = request.showPreset
    ? { settings: shownSettings(completed), systemPrompt: isInstructed ? undefined : systemPrompt }
    : {}
  generation.preset = create(AppliedPresetSchema, { presetId, slug, version, ...shown })
  generation.warnings = notAppliedWarnings(completed)
}

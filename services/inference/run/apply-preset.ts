import { Rejection } from '#shared/rejection.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { notAppliedWarnings } from '../domain/left-out.ts'
import { withPreset } from '../domain/preset/apply-preset.ts'
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
  const named = namedModel(input.model)
  const slug = named.slug ?? input.request.preset
  if (slug === undefined) return
  if (named.slug !== undefined && input.request.preset !== undefined) {
    throw invalid('preset', 'must be omitted if the model names one')
  }
  const found = await presets.inUse(input.principal.workspaceId, slug)
  if (found?.status !== 'active') throw new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
  const { presetId, version, systemPrompt } = found
  const { model, settings } = readSettings(found)
  const chosen = named.model ?? model
  check(chosen !== undefined || !input.modelRequired, 'model', 'is required, since the preset names none')
  const left = input.wantsText ? { ...settings, responseFormat: undefined } : settings
  const request = withPreset(input.request, left, systemPrompt)
  generation.input = { ...input, model: chosen, request }
  generation.preset = { presetId, slug, version }
  if (input.showPreset) {
    const isInstructed = request.messages === input.request.messages
    generation.shownPreset = { settings: request, systemPrompt: isInstructed ? undefined : systemPrompt }
  }
  generation.warnings = notAppliedWarnings(request)
}

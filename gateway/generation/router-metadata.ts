import { z } from 'zod'
import type { AppliedPreset, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationHeaders } from './call.ts'

/** How an answer was made; it is shown only where the request asks for it (gateway facts 6.6). */
export const routerMetadata = z
  .strictObject({
    requested: z.string(),
    strategy: z.literal('direct'),
    region: z.null(),
    summary: z.string(),
    attempt: z.int(),
    is_byok: z.literal(false),
    endpoints: z.strictObject({
      total: z.int(),
      available: z.array(z.strictObject({ provider: z.string(), model: z.string(), selected: z.boolean() })),
    }),
    params: z.strictObject({ preset: z.string(), preset_version: z.int() }).optional(),
    /** What did not reach the model as it was meant, one stage for each member of the request. */
    pipeline: z
      .array(z.strictObject({ type: z.literal('not_applied'), name: z.string(), summary: z.string() }))
      .optional(),
  })
  .meta({ id: 'RouterMetadata' })

export type RouterMetadata = z.output<typeof routerMetadata>

/** Whether a request asks how its answer was made. */
export function wantsRouterMetadata(headers: GenerationHeaders): boolean {
  const said = headers['x-openrouter-metadata'] ?? headers['x-openrouter-experimental-metadata']
  return said?.toLowerCase() === 'enabled'
}

/** Who made an answer, and what did not reach them. */
export interface Served {
  readonly model: string
  readonly providerId: string
  readonly warnings: readonly Warning[]
  readonly preset?: AppliedPreset | undefined
}

/** Says how an answer was made. `nameOf`: what the client calls a field of a generation. */
export function toRouterMetadata(
  requested: string,
  { model, providerId, warnings, preset }: Served,
  nameOf: (field: string) => string,
): RouterMetadata {
  const pipeline = warnings.map(({ field, message }) => {
    return { type: 'not_applied' as const, name: nameOf(field), summary: message }
  })
  const without = pipeline.length === 0 ? '' : `; not applied: ${pipeline.map(({ name }) => name).join(', ')}`
  return {
    requested,
    strategy: 'direct',
    region: null,
    summary: `served by ${providerId}${without}`,
    attempt: 1,
    is_byok: false,
    endpoints: { total: 1, available: [{ provider: providerId, model, selected: true }] },
    ...(preset === undefined ? {} : { params: { preset: preset.slug, preset_version: preset.version } }),
    ...(pipeline.length === 0 ? {} : { pipeline }),
  }
}

import { z } from 'zod'

/** How an answer was made; it is shown only where the request wants it. */
export const routerMetadata = z
  .strictObject({
    requested: z.string(),
    strategy: z.literal('direct'),
    region: z.null(),
    summary: z.string(),
    attempt: z.int().meta({ description: '0: no provider was called' }),
    is_byok: z.literal(false),
    endpoints: z.strictObject({
      total: z.int(),
      available: z.array(z.strictObject({ provider: z.string(), model: z.string(), selected: z.boolean() })),
    }),
    /** Of a failure: the provider's answer. */
    attempts: z.array(z.strictObject({ provider: z.string(), model: z.string(), status: z.int() })).optional(),
    params: z.strictObject({ preset: z.string(), preset_version: z.int() }).optional(),
    /** Members of the request that did not reach the model as they were meant, one stage each. */
    pipeline: z
      .array(z.strictObject({ type: z.literal('not_applied'), name: z.string(), summary: z.string() }))
      .optional(),
  })
  .meta({ id: 'RouterMetadata' })

export type RouterMetadata = z.output<typeof routerMetadata>

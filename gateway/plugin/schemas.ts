import { z } from 'zod'

/** `Plugin.Info` (instance facts 1.4). */
export const pluginInfo = z
  .strictObject({
    id: z.string().optional().meta({ description: 'Absent: it failed before it was known' }),
    source: z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('package'),
        target: z.string().meta({ description: 'The configured specifier' }),
        version: z.string().optional(),
        outdated: z.literal(true).optional(),
        updating: z.literal(true).optional(),
      }),
      z.strictObject({ type: z.literal('local'), path: z.string() }),
    ]),
    features: z.strictObject({ server: z.literal(true).optional() }),
    state: z.discriminatedUnion('status', [
      z.strictObject({ status: z.literal('active') }),
      z.strictObject({
        status: z.literal('failed'),
        error: z.string(),
        ref: z.string().optional().meta({ description: 'Also in the log' }),
      }),
    ]),
  })
  .meta({ id: 'Plugin.Info' })

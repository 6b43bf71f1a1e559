import { z } from 'zod'

const headers = z.record(z.string(), z.string())
const body = z.strictObject({}).meta({ description: 'Portico adds nothing' })

/** Prices in US dollars per million tokens. */
const modelCost = z.strictObject({
  input: z.number(),
  output: z.number(),
  cache: z.strictObject({ read: z.number(), write: z.number() }),
})

/** A model that sessions can use, as clients of OpenCode know it. What is not known is 0 or empty. */
export const modelInfo = z
  .strictObject({
    id: z.string(),
    providerID: z.string(),
    name: z.string(),
    api: z.strictObject({ id: z.string(), type: z.literal('native'), settings: z.strictObject({}) }),
    capabilities: z.strictObject({
      tools: z.boolean(),
      input: z.array(z.string()),
      output: z.array(z.string()),
    }),
    request: z.strictObject({ headers, body }),
    variants: z.array(z.strictObject({ id: z.string(), headers, body })),
    time: z.strictObject({ released: z.int() }),
    cost: z.array(modelCost).meta({ description: 'Empty: the price is unknown' }),
    status: z.literal('active'),
    enabled: z.boolean(),
    limit: z.strictObject({
      context: z.int().meta({ description: 'Tokens of input and output together; 0: unknown' }),
      output: z.int().meta({ description: 'Tokens; 0: unknown' }),
    }),
  })
  .meta({ id: 'Model.Info' })

/** A provider of models. */
export const providerInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    api: z.strictObject({ type: z.literal('native'), settings: z.strictObject({}) }),
    request: z.strictObject({ headers, body }),
  })
  .meta({ id: 'Provider.Info' })

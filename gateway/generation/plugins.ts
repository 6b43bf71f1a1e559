import { z } from 'zod'
import { freeObject, typeErrors } from '../shape.ts'

const enabled = z.boolean().optional()
const names = z.array(z.string()).max(1_024).nullish()
const patterns = z
  .array(z.string().max(1_024))
  .max(1_024)
  .refine((all) => all.reduce((sum, pattern) => sum + pattern.length, 0) <= 65_536, {
    message: 'must have at most 65536 characters together',
  })
  .nullish()

const router = {
  enabled,
  allowed_models: patterns,
  excluded_models: patterns,
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  cost_quality_tradeoff: z.int().min(0).max(10).nullish(),
}

const place = z.object({
  type: z.literal('approximate').nullish(),
  city: z.string().nullish(),
  country: z.string().nullish(),
  region: z.string().nullish(),
  timezone: z.string().nullish(),
})

const fusionTool = z.object({
  type: z.string().min(1),
  parameters: freeObject('Each server tool has settings of its own.').optional(),
})

const PLUGINS = [
  z.object({ id: z.literal('auto-router'), ...router, pin_model: z.boolean().nullish() }),
  z.object({ id: z.literal('auto-beta-router'), ...router }),
  z.object({ id: z.literal('moderation'), enabled }),
  z.object({
    id: z.literal('web'),
    enabled,
    engine: z.string().nullish(),
    max_results: z.int().min(1).max(25).nullish(),
    max_uses: z.int().min(1).nullish(),
    mode: z.string().nullish(),
    search_prompt: z.string().nullish(),
    include_domains: names,
    exclude_domains: names,
    user_location: place.nullish(),
    x_search: freeObject('Filters for a search on X.').nullish(),
  }),
  z.object({
    id: z.literal('web-fetch'),
    enabled,
    max_uses: z.int().min(1).nullish(),
    max_content_tokens: z.int().min(1).nullish(),
    allowed_domains: names,
    blocked_domains: names,
  }),
  z.object({
    id: z.literal('file-parser'),
    enabled,
    pdf: z.object({ engine: z.enum(['mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text']).nullish() }).nullish(),
  }),
  z.object({ id: z.literal('response-healing'), enabled }),
  z.object({ id: z.literal('context-compression'), enabled, engine: z.literal('middle-out').nullish() }),
  z.object({
    id: z.literal('pareto-router'),
    enabled,
    max_price: z.number().min(0).nullish(),
    min_coding_score: z.number().min(0).max(1).nullish(),
    price_source: z.enum(['prompt', 'weighted_avg']).nullish(),
  }),
  z.object({
    id: z.literal('fusion'),
    enabled,
    analysis_models: z.array(z.string().min(1)).min(1).max(8).nullish(),
    model: z.string().nullish(),
    preset: z.enum(['general-high', 'general-budget', 'general-fast']).nullish(),
    max_tool_calls: z.int().min(1).max(16).nullish(),
    tools: z.array(fusionTool).max(8).nullish(),
  }),
  z.object({
    id: z.literal('switchyard-router'),
    enabled,
    algorithm: z.enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough']).nullish(),
  }),
] as const

const members = new Map(PLUGINS.map(({ shape }) => [shape.id.value as string, new Set(Object.keys(shape))]))
const anyMember = new Set([...members.values()].flatMap((names) => [...names]))

/** The plugins, each with its own members: those of another one are refused. None of them is run here yet. */
const plugin = z
  .preprocess(
    (value, context) => {
      const { id, ...rest } = (value ?? {}) as Readonly<Record<string, unknown>>
      const own = typeof id === 'string' ? members.get(id) : undefined
      for (const name of own === undefined ? [] : Object.keys(rest)) {
        if (own?.has(name) || !anyMember.has(name)) continue
        context.addIssue({ code: 'custom', path: [name], message: `is not a member of the plugin "${id}"` })
      }
      return value
    },
    z.discriminatedUnion('id', PLUGINS, typeErrors()),
  )
  .meta({ id: 'Plugin' })

/** Plugins that are switched on or off for a request. */
export const plugins = z.array(plugin).max(256)

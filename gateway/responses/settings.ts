import { z } from 'zod'
import { ReasoningSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { guarded, limitedBy, mustBe, notYet, objectProblem, typeErrors } from '../shape.ts'

/** How much the model thinks. */
export const efforts = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])
/** How a summary of its thoughts is written. */
export const summaries = z.enum(['auto', 'concise', 'detailed'])

/** How the model thinks. */
export const reasoning = z.object({
  effort: efforts.nullish(),
  summary: summaries.nullish(),
  enabled: z.boolean().nullish(),
  max_tokens: limitedBy(ReasoningSchema.field.maxTokens, z.int32()).nullish(),
  mode: z.enum(['standard'], { error: 'only "standard" is supported' }).nullish(),
  context: z.enum(['auto', 'all_turns'], { error: 'only "auto" and "all_turns" are supported' }).nullish(),
})

const pairs = z
  .record(z.string(), z.string().max(512))
  .refine((given) => Object.keys(given).every((key) => key.length <= 64 && !/[[\]]/.test(key)), {
    message: 'keys must have at most 64 characters and no brackets',
  })

/** Up to 16 pairs, which are echoed (gateway facts 1.1). They are counted before they are looked at. */
export const metadata = guarded(pairs, (value) => {
  const many = typeof value === 'object' && value !== null && Object.keys(value).length > 16
  return many ? 'must have at most 16 pairs' : undefined
})

const text = z.string().nullish()
const number = z.number().nullish()
const price = z.union([z.number(), z.string()]).nullish()
const speed = z.union([z.number(), z.object({ p50: number, p75: number, p90: number, p99: number })]).nullish()
/** Most items of a list of settings. */
const MAX_SETTINGS = 256
const slugs = z.array(z.string().min(1)).max(MAX_SETTINGS).nullish()

/**
 * Which upstream to use. There is one for each model, so preferences that only order several have no effect, and demands that might exclude
 * it are refused. The object is closed (gateway facts 6.1).
 */
export const provider = z
  .strictObject({
    order: slugs,
    allow_fallbacks: z.boolean().nullish(),
    sort: z.union([z.string(), z.object({ by: text, partition: text })]).nullish(),
    preferred_max_latency: speed,
    preferred_min_throughput: speed,
    only: notYet('a choice of upstreams'),
    ignore: notYet('a choice of upstreams'),
    require_parameters: notYet('a choice of upstreams'),
    data_collection: z
      .enum(['allow', 'deny'])
      .nullish()
      .refine((value) => value !== 'deny', { message: 'a choice of upstreams is not supported' }),
    zdr: notYet('a choice of upstreams'),
    enforce_distillable_text: notYet('a choice of upstreams'),
    quantizations: notYet('a choice of upstreams'),
    max_price: z
      .object({ prompt: price, completion: price, request: price, image: price, audio: price })
      .nullish()
      .refine((value) => value == null || Object.values(value).every((one) => one == null), {
        message: 'a choice of upstreams is not supported',
      }),
  })
  .refine(({ order, allow_fallbacks }) => allow_fallbacks !== false || order == null || order.length === 0, {
    path: ['order'],
    message: 'a choice of upstreams is not supported',
  })

const PLUGINS = [
  ...['auto-router', 'auto-beta-router', 'moderation', 'web', 'web-fetch', 'file-parser', 'response-healing'],
  ...['context-compression', 'pareto-router', 'fusion', 'switchyard-router'],
] as const

/** Plugins that are switched off; none can be switched on. */
export const plugins = z
  .array(
    z
      .object({ id: z.enum(PLUGINS), enabled: z.boolean().optional() })
      .refine(({ enabled }) => enabled === false, { message: 'plugins are not supported' }),
  )
  .max(MAX_SETTINGS)

/** When a loop of server tools stops. There are no such tools, so the conditions are only checked. */
export const stopConditions = z
  .array(
    z.discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('step_count_is'), step_count: z.int().min(1) }),
        z.object({ type: z.literal('has_tool_call'), tool_name: z.string().min(1) }),
        z.object({ type: z.literal('max_tokens_used'), max_tokens: z.int().min(1) }),
        z.object({ type: z.literal('max_cost'), max_cost_in_dollars: z.number().min(0) }),
        z.object({ type: z.literal('finish_reason_is'), reason: z.string().min(1) }),
      ],
      typeErrors(),
    ),
  )
  .min(1)
  .max(MAX_SETTINGS)

const word = z.string().optional()

/** Ids for observability; other keys pass, whatever they hold. */
export const trace = guarded(
  z.object(
    { trace_id: word, trace_name: word, span_name: word, generation_name: word, parent_span_id: word },
    mustBe('an object'),
  ),
  objectProblem,
)

/** Further members of an answer; those of hosted tools never come to pass. */
export const include = z
  .array(
    z.enum([
      'reasoning.encrypted_content',
      'message.input_image.image_url',
      'file_search_call.results',
      'computer_call_output.output.image_url',
      'code_interpreter_call.outputs',
    ]),
  )
  .max(MAX_SETTINGS)

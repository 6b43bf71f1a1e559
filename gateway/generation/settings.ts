import { z } from 'zod'
import { GenerationRequestSchema, ReasoningSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { guarded, limitedBy, mustBe, objectProblem, typeErrors } from '../shape.ts'

const { user: userField, sessionId: sessionField, preset: presetField, ...others } = GenerationRequestSchema.field
const { most: MOST_IN_MODEL } = limitOf(others.model)
const { most: MOST_PAIRS } = limitOf(others.metadata)
const { most: MOST_IN_KEY } = limitOf(others.metadata, 'key')
const KEY = new RegExp(`^[^[\\]]{0,${MOST_IN_KEY}}$`, 'u')

/** How much the model thinks. */
export const efforts = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])
/** How a summary of its thoughts is written. */
export const summaries = z.enum(['auto', 'concise', 'detailed'])
/** How wordy the answer is. */
export const verbosity = z.enum(['low', 'medium', 'high', 'xhigh', 'max'])

/** How the model thinks. */
export const reasoning = z.object({
  effort: efforts.nullish(),
  summary: summaries.nullish(),
  enabled: z.boolean().nullish(),
  max_tokens: limitedBy(ReasoningSchema.field.maxTokens, z.int32()).nullish(),
  exclude: z.boolean().nullish(),
  mode: z.enum(['standard', 'pro']).nullish(),
  context: z.enum(['auto', 'all_turns', 'current_turn']).nullish(),
})

/** Most settings of a list. */
const MAX_SETTINGS = 256

/** Which tier serves the request; `fast` is another word for `priority`. */
export const serviceTier = z.enum(['auto', 'default', 'flex', 'priority', 'scale', 'fast'])
/** How fast the answer comes; `fast` means the tier `priority` where a provider has no speeds. */
export const speed = z.enum(['fast', 'standard'])
export const endUser = limitedBy(userField, z.string())
/** Groups the requests of one conversation. */
export const sessionId = limitedBy(sessionField, z.string())
const presetSlug = limitedBy(presetField, z.string().min(1))
/** Name of a model besides the one that is sent to the service. */
export const modelName = z.string().min(1).max(MOST_IN_MODEL)
/** Models that are tried one after the other. */
export const models = z.array(modelName).max(64)
/** Deprecated alias of `provider.sort.partition`: `fallback` means `model`, `sort` means `none`. */
export const route = z.enum(['fallback', 'sort'])
/** Most calls of tools that the provider runs. */
export const maxToolCalls = limitedBy(others.maxToolCalls, z.int32())

const ttl = z.enum(['5m', '1h']).nullish()
/** Asks the provider to cache: what comes before it on a block, all there is at the top of a body. */
export const cacheControl = z.object({ type: z.literal('ephemeral'), ttl })
/** Whether breakpoints for the provider's cache are placed by the request. */
export const promptCacheOptions = z.object({ mode: z.literal('explicit').nullish(), ttl })
/** Ends a prefix that the provider should cache. */
export const promptCacheBreakpoint = z.object({ mode: z.literal('explicit') })

/** Value of a pair that goes into the ledger. */
export const metadataValue = limitedBy(others.metadata, z.string(), 'item')

/** Pairs that go into the ledger. They are counted before they are looked at. */
export const metadataOf = <S extends z.ZodType>(pairs: S) =>
  guarded(limitedBy(others.metadata, pairs), (value) => {
    const many = typeof value === 'object' && value !== null && Object.keys(value).length > MOST_PAIRS
    return many ? `must have at most ${MOST_PAIRS} pairs` : undefined
  })

/** Such pairs as are echoed. */
export const metadata = metadataOf(
  z.record(z.string(), metadataValue).refine((members) => Object.keys(members).every((key) => KEY.test(key)), {
    message: `keys must have at most ${MOST_IN_KEY} characters and no brackets`,
  }),
)

/** When a loop of server tools stops: as soon as one of the conditions holds. */
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
  z
    .looseObject(
      { trace_id: word, trace_name: word, span_name: word, generation_name: word, parent_span_id: word },
      mustBe('an object'),
    )
    .meta({ description: 'Other members pass through to the span of the request.' }),
  objectProblem,
)

/** Which parts of the exchange with the upstream to show; none are shown. */
export const debug = z.object({ echo_upstream_body: z.boolean().nullish() })

/** Members of a body that every dialect has, with the same meaning. */
export const sharedSettings = {
  user: endUser.nullish(),
  session_id: sessionId.nullish(),
  preset: presetSlug.nullish(),
  metadata: metadata.nullish(),
  trace: trace.nullish(),
  cache_control: cacheControl.nullish(),
  service_tier: serviceTier.nullish(),
  debug: debug.nullish(),
}

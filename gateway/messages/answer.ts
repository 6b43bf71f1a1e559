import { z } from 'zod'
import { costMembers } from '../generation/cost.ts'
import { routerMetadata } from '../records/router-metadata.ts'
import { freeObject } from '../shape.ts'

const count = z.int()

/** A citation in Anthropic's form; sources of other providers take the form of a web search's. */
const citation = freeObject('In Anthropic’s form, by its type.')

// Of Anthropic’s own blocks further members come as they are.
/** Older readers refuse `citations` that are null: text that cites nothing has none. */
const text = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  citations: z.array(citation).min(1).optional(),
})
const thinking = z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() })
const redactedThinking = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() })
const toolUse = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: freeObject('Input of the tool.'),
  /** The provider's proof of the call, which has to be sent back in the history; absent: it gave none. */
  signature: z.string().optional(),
  /** Kind of the provider. */
  format: z.string().optional(),
})
const mediaSource = z.union([
  z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.strictObject({ type: z.literal('url'), url: z.string() }),
])
const image = z.strictObject({ type: z.literal('image'), source: mediaSource })
const document = z.strictObject({ type: z.literal('document'), source: mediaSource, title: z.string().nullable() })
const OWN = [text, thinking, redactedThinking, toolUse, image, document] as const
const types: readonly string[] = OWN.map(({ shape }) => shape.type.value)
const other = z
  .looseObject({ type: z.string().refine((type) => !types.includes(type)) })
  .meta({ description: 'Results of Anthropic’s tools, unchanged.' })

export const contentBlock = z.union([z.discriminatedUnion('type', OWN), other]).meta({ id: 'Messages.ContentBlock' })

const STOP_REASONS = [
  ...['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn', 'refusal'],
  ...['model_context_window_exceeded', 'compaction'],
] as const
const stopReason = z.enum(STOP_REASONS)

const ANTHROPICS = 'As reported by Anthropic; null if another provider answered.'
const own = freeObject(ANTHROPICS).nullable()

/** What was used, and what it cost in dollars where that is known. Further members of Anthropic’s come as they are. */
export const usage = z
  .looseObject({
    input_tokens: count,
    output_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    cache_creation: own,
    output_tokens_details: z.strictObject({ thinking_tokens: count }),
    server_tool_use: own,
    service_tier: z.string().nullable(),
    inference_geo: z.string().nullable(),
    speed: z.string().nullable(),
    iterations: z.array(z.unknown()).nullable().meta({ description: ANTHROPICS }),
    is_byok: z.literal(false),
    ...costMembers,
  })
  .meta({ id: 'Messages.Usage' })

export const ending = z.strictObject({
  stop_reason: stopReason.nullable(),
  stop_sequence: z.string().nullable(),
  stop_details: own,
  container: own,
})

/** A message of the model. Further members of Anthropic’s, such as `context_management`, come as they are. */
export const messageObject = z
  .looseObject({
    id: z.string().regex(/^msg_/),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(contentBlock),
    ...ending.shape,
    usage,
    provider: z.string(),
    openrouter_metadata: routerMetadata.optional(),
  })
  .meta({ id: 'Messages.Message' })

export type ContentBlock = z.input<(typeof OWN)[number]> | z.input<typeof other>
export type StopReason = (typeof STOP_REASONS)[number]
export type Ending = z.input<typeof ending>
export type MessageObject = z.input<typeof messageObject>
export type MessageUsage = z.input<typeof usage>

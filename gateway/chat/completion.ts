import { z } from 'zod'
import { errorMetadata } from '../errors/schemas.ts'
import { urlCitation } from '../generation/sources.ts'
import { routerMetadata } from '../records/router-metadata.ts'

const count = z.int()

/** What was used, and what it cost in dollars where that is known. */
export const usage = z
  .strictObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
    completion_tokens_details: z.strictObject({ reasoning_tokens: count }),
    is_byok: z.literal(false),
    cost: z.number().optional(),
    cost_details: z
      .strictObject({
        upstream_inference_cost: z.null(),
        upstream_inference_prompt_cost: z.number(),
        upstream_inference_completions_cost: z.number(),
      })
      .optional(),
  })
  .meta({ id: 'Chat.Usage' })

const logprob = { token: z.string(), logprob: z.number(), bytes: z.array(z.int()).nullable() }
const tokens = z.array(z.strictObject({ ...logprob, top_logprobs: z.array(z.strictObject(logprob)) }))

/** Log probabilities of tokens, as far as they were requested. */
export const logprobs = z
  .strictObject({ content: tokens.nullable(), refusal: tokens.nullable() })
  .meta({ id: 'Chat.Logprobs' })

/**
 * Members of a reasoning detail: the kind of provider that made it, the provider's id for it, and the number of the
 * thought.
 */
const ofThought = { id: z.string().optional(), format: z.string().optional(), index: z.int() }

/** A piece of what the model thought. */
export const reasoningDetail = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('reasoning.text'),
      text: z.string().optional(),
      signature: z.string().optional(),
      ...ofThought,
    }),
    z.strictObject({ type: z.literal('reasoning.summary'), summary: z.string(), ...ofThought }),
    z.strictObject({ type: z.literal('reasoning.encrypted'), data: z.string(), ...ofThought }),
  ])
  .meta({ id: 'Chat.ReasoningDetail' })

/** A source that the model named; positions are those of the message's content, in UTF-16 code units. */
export const annotation = z
  .strictObject({
    type: z.literal('url_citation'),
    url_citation: z.strictObject(urlCitation),
  })
  .meta({ id: 'Chat.Annotation' })

const image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({ url: z.string() }),
  index: z.int(),
})
const file = z.strictObject({
  type: z.literal('file'),
  file: z.strictObject({ filename: z.string().optional(), file_data: z.string() }),
})

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    id: z.string(),
    type: z.literal('function'),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
  }),
  z.strictObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
])

/** What is not streamed piece by piece, in a message as well as in a chunk. */
export const extras = {
  reasoning_details: z.array(reasoningDetail).optional(),
  images: z.array(image).optional(),
  files: z.array(file).optional(),
  annotations: z.array(annotation).optional(),
}

/** What the model said, thought and called. */
export const message = z
  .strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    refusal: z.string().nullable(),
    reasoning: z.string().nullable(),
    tool_calls: z.array(toolCall).optional(),
    ...extras,
  })
  .meta({ id: 'Chat.Message' })

/** Why an answer ended. */
export const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'error'])

/** What broke an answer off. */
export const failure = z.strictObject({
  code: z.int(),
  message: z.string(),
  metadata: errorMetadata,
})

/**
 * A chat completion. `system_fingerprint` has to be there, since clients demand it. `error`: it failed after white
 * space was sent with the status 200; its choice ended with the error and contains it, too.
 */
export const chatCompletion = z
  .strictObject({
    id: z.string().regex(/^gen-/),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    provider: z.string().optional(),
    system_fingerprint: z.null(),
    service_tier: z.string().nullable(),
    choices: z
      .array(
        z.strictObject({
          index: z.literal(0),
          finish_reason: finishReason,
          native_finish_reason: z.string().nullable(),
          logprobs: logprobs.nullable(),
          message,
          error: failure.optional(),
        }),
      )
      .length(1),
    usage: usage.optional(),
    openrouter_metadata: routerMetadata.optional(),
    error: failure.optional(),
  })
  .meta({ id: 'ChatCompletion' })

export type ChatCompletion = z.output<typeof chatCompletion>
export type ChatMessage = z.output<typeof message>
export type ChatError = z.output<typeof failure>
export type ChatFinishReason = z.output<typeof finishReason>
export type ChatLogprobs = z.output<typeof logprobs>
export type ChatUsage = z.output<typeof usage>
export type ChatAnnotation = z.output<typeof annotation>
export type ReasoningDetail = z.output<typeof reasoningDetail>

import { z } from 'zod'

const status = z.enum(['in_progress', 'completed', 'incomplete'])
/** Log probabilities are not supported. */
export const noLogprobs = z.array(z.never()).max(0)

/** A source that the model named; positions are those of the text that rests on it, in UTF-16 code units. */
export const urlCitation = z.strictObject({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string(),
  start_index: z.int(),
  end_index: z.int(),
  /** The passage of the source. */
  content: z.string().optional(),
})

/** Words of an answer. */
export const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(urlCitation),
  logprobs: noLogprobs,
})

/** Words of refusal. */
export const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() })

/** A piece of what the model thought. */
export const reasoningText = z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })

/** A piece of a summary of what the model thought. */
export const summaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() })

const message = z.strictObject({
  type: z.literal('message'),
  id: z.string(),
  status,
  role: z.literal('assistant'),
  content: z.array(z.discriminatedUnion('type', [outputText, refusal])),
})

const functionCall = z.strictObject({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status,
})

const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: z.string(),
  summary: z.array(summaryText),
  content: z.array(reasoningText).optional(),
  encrypted_content: z.string().optional(),
  signature: z.string().optional(),
  status,
})

const picture = z.strictObject({
  type: z.literal('image_generation_call'),
  id: z.string(),
  /** Base64, or an address. */
  result: z.string().nullable(),
  status: z.enum(['in_progress', 'completed', 'failed']),
})

/** One item of the output of a response (gateway facts 1.5). */
export const outputItem = z
  .discriminatedUnion('type', [message, functionCall, reasoning, picture])
  .meta({ id: 'Response.OutputItem' })

export type ItemStatus = z.output<typeof status>
export type OutputItem = z.output<typeof outputItem>
export type UrlCitation = z.output<typeof urlCitation>
export type MessageItem = z.output<typeof message>
export type ReasoningItem = z.output<typeof reasoning>

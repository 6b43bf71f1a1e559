import { z } from 'zod'
import { urlCitation as citation } from '../generation/sources.ts'
import { hostedItem } from './hosted.ts'

const status = z.enum(['in_progress', 'completed', 'incomplete'])

const alternative = z.strictObject({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) })
/** How probable each token of a text was; empty: it was not requested. */
export const logprobs = z
  .array(alternative.extend({ top_logprobs: z.array(alternative) }))
  .meta({ id: 'Response.LogProbabilities' })

const urlCitation = z.strictObject({ type: z.literal('url_citation'), ...citation })

/** A file that the model named; `index`: where in the text. */
const fileCitation = z.strictObject({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string(),
  index: z.int(),
})

/** What a text rests on. */
export const annotation = z.discriminatedUnion('type', [urlCitation, fileCitation])

/** Words of an answer. */
export const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(annotation),
  logprobs,
})

export const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() })

/** A piece of what the model thought. */
export const reasoningText = z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })

/** A piece of a summary of what the model thought. */
export const summaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() })

/** Whether a message comments on the work or is the final answer. */
export const phase = z.enum(['commentary', 'final_answer'])

const message = z.strictObject({
  type: z.literal('message'),
  id: z.string(),
  status,
  role: z.literal('assistant'),
  phase: phase.optional(),
  content: z.array(z.discriminatedUnion('type', [outputText, refusal])),
})

const functionCall = z.strictObject({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  namespace: z.string().optional(),
  /** The provider's proof, and the kind of provider that made it. */
  signature: z.string().optional(),
  format: z.string().optional(),
  status,
})

const customToolCall = z.strictObject({
  type: z.literal('custom_tool_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
  namespace: z.string().optional(),
  status,
})

const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: z.string(),
  summary: z.array(summaryText),
  content: z.array(reasoningText).optional(),
  encrypted_content: z.string().optional(),
  signature: z.string().optional(),
  /** The kind of provider that made it. */
  format: z.string().optional(),
  status,
})

const picture = z.strictObject({
  type: z.literal('image_generation_call'),
  id: z.string(),
  /** Base64, or an address. */
  result: z.string().nullable(),
  status: z.enum(['in_progress', 'completed', 'failed']),
})

export const outputItem = z
  .union([z.discriminatedUnion('type', [message, functionCall, customToolCall, reasoning, picture]), hostedItem])
  .meta({ id: 'Response.OutputItem' })

export type ItemStatus = z.output<typeof status>
export type OutputItem = z.output<typeof outputItem>
export type Annotation = z.output<typeof annotation>
export type Logprobs = z.output<typeof logprobs>
export type MessageItem = z.output<typeof message>
export type ReasoningItem = z.output<typeof reasoning>

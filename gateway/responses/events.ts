import { z } from 'zod'
import { annotation, logprobs, outputItem, outputText, reasoningText, refusal, summaryText } from './output.ts'
import { failed, incompleteDetails, responseObject, usage } from './response.ts'

const index = z.int()
const sequence_number = z.int()

// Where in the response something happened.
const atItem = { response_id: z.string(), output_index: index }
const inResponse = { ...atItem, content_index: index }
const ofItem = { item_id: z.string(), output_index: index }
const inContent = { ...ofItem, content_index: index }
const inSummary = { ...ofItem, summary_index: index }

function event<T extends string, S extends z.core.$ZodLooseShape>(type: T, members: S) {
  return z.strictObject({ type: z.literal(type), ...members, sequence_number })
}

const message = z.discriminatedUnion('type', [outputText, refusal])
const content = z.discriminatedUnion('type', [outputText, refusal, reasoningText])

const openaiEvents = [
  event('response.created', { response: responseObject }),
  event('response.in_progress', { response: responseObject }),
  event('response.output_item.added', { ...atItem, item: outputItem }),
  event('response.content_part.added', { response_id: z.string(), ...inContent, part: content }),
  event('response.output_text.delta', { ...inContent, logprobs, delta: z.string() }),
  event('response.output_text.annotation.added', { ...inContent, annotation_index: index, annotation }),
  event('response.output_text.done', { ...inContent, text: z.string(), logprobs }),
  event('response.refusal.delta', { ...inContent, delta: z.string() }),
  event('response.refusal.done', { ...inContent, refusal: z.string() }),
  event('response.reasoning_text.delta', { ...inContent, delta: z.string() }),
  event('response.reasoning_text.done', { ...inContent, text: z.string() }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: z.string() }),
  event('response.reasoning_summary_text.done', { ...inSummary, text: z.string() }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: summaryText }),
  event('response.function_call_arguments.delta', { ...ofItem, delta: z.string() }),
  event('response.function_call_arguments.done', { ...ofItem, name: z.string(), arguments: z.string() }),
  event('response.custom_tool_call_input.delta', { ...ofItem, delta: z.string() }),
  event('response.custom_tool_call_input.done', { ...ofItem, input: z.string() }),
  event('response.web_search_call.in_progress', ofItem),
  event('response.web_search_call.searching', ofItem),
  event('response.web_search_call.completed', ofItem),
  event('response.file_search_call.in_progress', ofItem),
  event('response.file_search_call.searching', ofItem),
  event('response.file_search_call.completed', ofItem),
  event('response.code_interpreter_call.in_progress', ofItem),
  event('response.code_interpreter_call.interpreting', ofItem),
  event('response.code_interpreter_call.completed', ofItem),
  event('response.image_generation_call.in_progress', ofItem),
  event('response.image_generation_call.generating', ofItem),
  event('response.image_generation_call.completed', ofItem),
  event('response.mcp_call.in_progress', ofItem),
  event('response.mcp_call.completed', ofItem),
  event('response.content_part.done', { ...inContent, part: content }),
  event('response.output_item.done', { ...atItem, item: outputItem }),
  event('response.completed', { response: responseObject }),
  event('response.incomplete', { response: responseObject }),
  event('response.failed', { response: responseObject }),
] as const

/** Events that the specification has besides, as a stream of both dialects has them. */
const moreEvents = [
  event('response.content_part.delta', { ...inResponse, delta: z.string() }),
  event('response.done', { response: responseObject }),
] as const

const seed = { id: z.string(), object: z.literal('response') }

const specificationEvents = [
  z.strictObject({
    type: z.literal('response.created'),
    response: z.strictObject({ ...seed, status: z.literal('in_progress') }),
  }),
  z.strictObject({ type: z.literal('response.output_item.added'), ...atItem, item: outputItem }),
  z.strictObject({ type: z.literal('response.content_part.added'), ...inResponse, part: message }),
  z.strictObject({ type: z.literal('response.content_part.delta'), ...inResponse, delta: z.string() }),
  z.strictObject({ type: z.literal('response.output_item.done'), ...atItem, item: outputItem }),
  z.strictObject({
    type: z.literal('response.done'),
    response: z.strictObject({
      ...seed,
      status: z.enum(['completed', 'incomplete', 'failed']),
      usage: usage.nullable().optional(),
      incomplete_details: incompleteDetails.optional(),
      error: failed.error.optional(),
      error_type: failed.error_type.optional(),
    }),
  }),
] as const

const numbered = z.discriminatedUnion('type', [...openaiEvents, ...moreEvents])
const specified = z.discriminatedUnion('type', [...specificationEvents])

/** One event of a stream of `POST /api/v1/responses`, in any dialect. */
export const responseEvent = z.union([numbered, specified]).meta({ id: 'Response.Event' })

type Numbered = z.output<typeof numbered>
type Specified = z.output<typeof specified>

export type SchemaEventType = (typeof openaiEvents)[number]['shape']['type']['value']

/** What an event of OpenAI's schema holds besides its type and number. */
export type SchemaMembers<T extends SchemaEventType> = Omit<Extract<Numbered, { type: T }>, 'type' | 'sequence_number'>

export type SpecifiedEventType = Specified['type']

/** What an event of the specification holds besides its type. */
export type SpecifiedMembers<T extends SpecifiedEventType> = Omit<Extract<Specified, { type: T }>, 'type'>

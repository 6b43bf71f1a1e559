import { z } from 'zod'
import { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitArguments, partsProblem } from '../generation/content.ts'
import { guarded, limitedBy, mustBe, refinedBy, typeErrors } from '../shape.ts'
import { foreignItem } from './hosted.ts'
import { phase } from './output.ts'
import { assistantContent, resultContent, systemContent, userContent } from './parts.ts'
import { tools } from './tools.ts'

const id = z.string().min(1)
const callId = z.string().min(1)
const status = z.enum(['in_progress', 'completed', 'incomplete'])

const shared = {
  type: z.literal('message').nullish(),
  id: id.nullish(),
  status: status.nullish(),
}
const systemMessage = z.object({ ...shared, role: z.enum(['system', 'developer']), content: systemContent })
const userMessage = z.object({ ...shared, role: z.literal('user'), content: userContent })
const assistantMessage = z.object({
  ...shared,
  role: z.literal('assistant'),
  content: assistantContent.nullable(),
  phase: phase.nullish(),
})
const message = z.discriminatedUnion(
  'role',
  [userMessage, assistantMessage, systemMessage],
  mustBe('"user", "assistant", "system" or "developer"'),
)

const call = { call_id: callId, name: z.string().min(1), id: id.nullish(), namespace: z.string().nullish() }

const functionCall = z.object({
  type: z.literal('function_call'),
  ...call,
  arguments: z.string(),
  status: status.nullish(),
  signature: z.string().nullish(),
  format: z.string().nullish(),
})

const customToolCall = z.object({
  type: z.literal('custom_tool_call'),
  ...call,
  input: z.string(),
  status: status.nullish(),
})

const callOutput = z.object({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: callId,
  output: resultContent,
  id: id.nullish(),
  status: status.nullish(),
})

const additionalTools = z.object({
  type: z.literal('additional_tools'),
  role: z.string().nullish(),
  tools,
  id: id.nullish(),
})

const reasoning = z.object({
  type: z.literal('reasoning'),
  id: id.nullish(),
  summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })).nullish(),
  content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
  signature: z.string().nullish(),
  format: z.string().nullish(),
  status: status.nullish(),
})

const picture = z.object({
  type: z.literal('image_generation_call'),
  id: id.nullish(),
  result: z.string().nullish(),
  status: z.string().nullish(),
})

const item = z.discriminatedUnion(
  'type',
  [message, functionCall, customToolCall, callOutput, reasoning, picture, additionalTools, foreignItem],
  typeErrors((type) =>
    type === 'item_reference'
      ? 'nothing is stored: send the item itself, as the AI SDK does with providerOptions.openai.store set to false'
      : `items of the type "${type.slice(0, 64)}" are not supported`,
  ),
)

export type InputItem = z.output<typeof item>
type MessageItem = z.output<typeof message>

/** Whether an item is a message, whose type may be left out. */
export function isMessage(item: InputItem): item is MessageItem {
  return item.type == null || item.type === 'message'
}

function* argumentsIn(all: readonly InputItem[]) {
  for (const [i, one] of all.entries()) {
    if (one.type === 'function_call') yield { text: one.arguments, path: [i, 'arguments'] }
  }
}

const items = z
  .array(item)
  .min(1)
  .check(refinedBy((values, problems) => limitArguments(argumentsIn(values), problems)))

const LISTS = ['content', 'output', 'summary']

/** The input: a text, or the whole history. */
export const input = guarded(
  z.union(
    [z.string(), limitedBy(GenerationRequestSchema.field.messages, items)],
    mustBe('a string or an array of items'),
  ),
  (history) => partsProblem(history, LISTS),
)

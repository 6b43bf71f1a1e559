import { z } from 'zod'
import { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitArguments, partsProblem } from '../generation/content.ts'
import { citationInput } from '../generation/sources.ts'
import { guarded, limitedBy, mustBe, refinedBy, typeErrors } from '../shape.ts'
import { anyContent, assistantContent, file, systemContent } from './parts.ts'

const name = z.string().nullish()
const callId = z.string().min(1)

const systemMessage = z.object({ role: z.enum(['system', 'developer']), content: systemContent, name })
const userMessage = z.object({ role: z.literal('user'), content: anyContent, name })
const toolMessage = z.object({ role: z.literal('tool'), tool_call_id: callId, content: anyContent, name })

const ofThought = { id: z.string().nullish(), format: z.string().nullish(), index: z.int().nullish() }
const reasoningDetail = z.discriminatedUnion(
  'type',
  [
    z.object({
      type: z.literal('reasoning.text'),
      text: z.string().nullish(),
      signature: z.string().nullish(),
      ...ofThought,
    }),
    z.object({ type: z.literal('reasoning.summary'), summary: z.string(), ...ofThought }),
    z.object({ type: z.literal('reasoning.encrypted'), data: z.string(), ...ofThought }),
    z.object({ type: z.literal('reasoning.server_tool_call'), ...ofThought }),
  ],
  typeErrors(),
)

const toolCall = z.discriminatedUnion(
  'type',
  [
    z.object({
      id: callId,
      type: z.literal('function'),
      function: z.object({ name: z.string().min(1), arguments: z.string() }),
    }),
    z.object({
      id: callId,
      type: z.literal('custom'),
      custom: z.object({ name: z.string().min(1), input: z.string() }),
    }),
  ],
  typeErrors((type) => `calls of the type "${type.slice(0, 64)}" are not supported`),
)

const annotation = z.object({
  type: z.string(),
  url_citation: z.object({ url: z.string(), ...citationInput }).nullish(),
})

const assistantMessage = z.object({
  role: z.literal('assistant'),
  content: assistantContent.nullish(),
  name,
  refusal: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning_details: z.array(reasoningDetail).nullish(),
  tool_calls: z.array(toolCall).nullish(),
  images: z.array(z.object({ image_url: z.object({ url: z.string() }) })).nullish(),
  files: z.array(file).nullish(),
  annotations: z.array(annotation).nullish(),
  audio: z.object({ id: z.string().nullish() }).nullish(),
})

const message = z.discriminatedUnion(
  'role',
  [userMessage, assistantMessage, toolMessage, systemMessage],
  mustBe('"user", "assistant", "tool", "system" or "developer"'),
)

export type ChatInputMessage = z.output<typeof message>
export type AssistantMessage = z.output<typeof assistantMessage>
export type InputDetail = z.output<typeof reasoningDetail>

function* argumentsIn(conversation: readonly ChatInputMessage[]) {
  for (const [i, message] of conversation.entries()) {
    if (message.role !== 'assistant') continue
    for (const [j, call] of (message.tool_calls ?? []).entries()) {
      if (call.type !== 'function') continue
      yield { text: call.function.arguments, path: [i, 'tool_calls', j, 'function', 'arguments'] }
    }
  }
}

const all = z
  .array(message)
  .min(1)
  .check(refinedBy((values, problems) => limitArguments(argumentsIn(values), problems)))

const LISTS = ['content', 'reasoning_details', 'tool_calls', 'images', 'files', 'annotations']

export const messages = guarded(limitedBy(GenerationRequestSchema.field.messages, all), (conversation) =>
  partsProblem(conversation, LISTS),
)

import { z } from 'zod'
import { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { JSON_LIMITS, JsonGauge } from '../http/json-gauge.ts'
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
  url_citation: z
    .object({
      url: z.string(),
      title: z.string().nullish(),
      start_index: z.int32().nullish(),
      end_index: z.int32().nullish(),
      content: z.string().nullish(),
    })
    .nullish(),
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

/** One message of a conversation. */
export type ChatInputMessage = z.output<typeof message>
export type AssistantMessage = z.output<typeof assistantMessage>
export type InputDetail = z.output<typeof reasoningDetail>

/** Members of the arguments of all calls together, which some providers want as JSON and not as text. */
const ARGUMENTS = { ...JSON_LIMITS, members: 50_000 }

const all = z
  .array(message)
  .min(1)
  .check(
    refinedBy((values, context) => {
      let { members } = ARGUMENTS
      for (const [i, value] of values.entries()) {
        if (value.role !== 'assistant') continue
        for (const [j, call] of (value.tool_calls ?? []).entries()) {
          if (call.type !== 'function') continue
          const gauge = new JsonGauge({ ...ARGUMENTS, members })
          try {
            gauge.add(Buffer.from(call.function.arguments))
          } catch {
            const message = `are nested more than ${ARGUMENTS.depth} levels deep, have more than ${ARGUMENTS.members} members with those before, or a number of more than ${ARGUMENTS.scalar} characters`
            const path = [i, 'tool_calls', j, 'function', 'arguments']
            return context.addIssue({ code: 'custom', path, message })
          }
          members -= gauge.members
        }
      }
    }),
  )

/** Most parts of all messages together: to check and pass on more would keep every other request waiting. */
const MAX_PARTS_TOGETHER = 50_000
const LISTS = ['content', 'reasoning_details', 'tool_calls', 'images', 'files', 'annotations'] as const

/** Parts are counted before they are checked; every message counts as one at least. */
function partsProblem(input: unknown): string | undefined {
  if (!Array.isArray(input)) return undefined
  let parts = 0
  for (const value of input as unknown[]) {
    const members = (value ?? {}) as Readonly<Record<string, unknown>>
    let own = 0
    for (const name of LISTS) {
      const list = members[name]
      if (Array.isArray(list)) own += list.length
    }
    parts += Math.max(own, 1)
  }
  return parts > MAX_PARTS_TOGETHER ? `has more than ${MAX_PARTS_TOGETHER} parts` : undefined
}

/** The whole conversation. */
export const messages = guarded(limitedBy(GenerationRequestSchema.field.messages, all), partsProblem)

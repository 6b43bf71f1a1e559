import { z } from 'zod'
import { JSON_LIMITS, JsonGauge } from '../http/json-gauge.ts'
import { byShape, byType, list, refusal } from '../shape.ts'
import { assistantContent, MAX_PARTS, resultContent, systemContent, userContent } from './parts.ts'

/** Most items of an input; the inference service takes as many messages. */
const MAX_ITEMS = 20_000

const id = z.string().min(1).max(512)
const callId = z.string().min(1).max(512)
const status = z.enum(['in_progress', 'completed', 'incomplete'])

const message = {
  type: z.literal('message').nullish(),
  id: id.nullish(),
  status: status.nullish(),
}
const systemMessage = z.object({ ...message, role: z.enum(['system', 'developer']), content: systemContent })
const userMessage = z.object({ ...message, role: z.literal('user'), content: userContent })
const assistantMessage = z.object({
  ...message,
  role: z.literal('assistant'),
  content: z.null().or(assistantContent),
  phase: z.enum(['commentary', 'final_answer']).nullish(),
})
const unknownRole = z.object({ role: z.enum(['user', 'assistant', 'system', 'developer']) })

type AnyMessage = z.output<typeof systemMessage> | z.output<typeof userMessage> | z.output<typeof assistantMessage>

const anyMessage = byShape<AnyMessage>((value) => {
  const { role } = value as { role?: unknown }
  if (role === 'user') return userMessage
  if (role === 'assistant') return byShape((inner) => assistantBy((inner as { content?: unknown }).content))
  return role === 'system' || role === 'developer' ? systemMessage : (unknownRole as unknown as z.ZodType<AnyMessage>)
})

/** Only null is let through as null, so that a problem within the content is told by its own path. */
function assistantBy(content: unknown): z.ZodType<z.output<typeof assistantMessage>> {
  return content === null ? assistantMessage : assistantMessage.extend({ content: assistantContent })
}

const functionCall = z.object({
  type: z.literal('function_call'),
  call_id: callId,
  name: z.string().min(1).max(128),
  arguments: z.string(),
  id: id.nullish(),
  status: status.nullish(),
  namespace: z.null({ error: 'namespaces are not supported' }).optional(),
})

const functionCallOutput = z.object({
  type: z.literal('function_call_output'),
  call_id: callId,
  output: resultContent,
  id: id.nullish(),
  status: status.nullish(),
})

const reasoning = z.object({
  type: z.literal('reasoning'),
  id: id.nullish(),
  summary: list(z.object({ type: z.literal('summary_text'), text: z.string() }), { most: MAX_PARTS }).nullish(),
  content: list(z.object({ type: z.literal('reasoning_text'), text: z.string() }), { most: MAX_PARTS }).nullish(),
  encrypted_content: z.string().nullish(),
  signature: z.string().nullish(),
  format: z.string().nullish(),
  status: status.nullish(),
})

const item = byType(
  { message: anyMessage, function_call: functionCall, function_call_output: functionCallOutput, reasoning },
  {
    absent: 'message',
    unknown: (type) =>
      type === 'item_reference'
        ? 'nothing is stored here: send the item itself, as clients do when told "store: false"'
        : `items of the type "${type.slice(0, 64)}" are not supported`,
  },
)

/** One item of an input (`contract/gateway-facts.md` 1.2). */
export type InputItem = z.output<typeof item>

/** Members of the arguments of all calls together, which some providers want as JSON and not as text. */
const ARGUMENTS = { ...JSON_LIMITS, members: 50_000 }

const items = list(item, { least: 1, most: MAX_ITEMS }).superRefine((values, context) => {
  let { members } = ARGUMENTS
  for (const [i, value] of values.entries()) {
    if (value.type !== 'function_call') continue
    const gauge = new JsonGauge({ ...ARGUMENTS, members })
    try {
      gauge.add(Buffer.from(value.arguments))
    } catch {
      const message = `are nested more than ${ARGUMENTS.depth} levels deep, have more than ${ARGUMENTS.members} members with those before, or a number of more than ${ARGUMENTS.scalar} characters`
      return context.addIssue({ code: 'custom', path: [i, 'arguments'], message })
    }
    members -= gauge.members
  }
})

/** Most parts of all items together: to check and pass on more would keep every other request waiting. */
const MAX_PARTS_TOGETHER = 50_000

/** As many as there are, whatever they are: they are counted before they are looked at. */
function partsOf(values: readonly unknown[]): number {
  let parts = 0
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue
    const { content, output, summary } = value as Readonly<Record<string, unknown>>
    for (const list of [content, output, summary]) if (Array.isArray(list)) parts += list.length
  }
  return parts
}

/** What is to be answered: a text, or the whole history. */
export const input = byShape<string | InputItem[]>((value) => {
  if (!Array.isArray(value)) return z.string({ error: 'expected a string or a list of items' })
  const many = value.length <= MAX_ITEMS && partsOf(value) > MAX_PARTS_TOGETHER
  return many ? refusal(`has more than ${MAX_PARTS_TOGETHER} parts`) : items
})

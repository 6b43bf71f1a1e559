import { z } from 'zod'
import { MediaPartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { itemsOf, membersOf } from '#shared/json.ts'
import { textOr } from '../generation/content.ts'
import { cacheControl } from '../generation/settings.ts'
import { freeObject, guarded, limitedBy, mustBe, objectProblem, typeErrors } from '../shape.ts'

const id = z.string().min(1)
const marks = { cache_control: cacheControl.nullish() }
const base64 = z.object({ type: z.literal('base64'), media_type: z.string().min(1), data: z.string() })
const url = z.object({ type: z.literal('url'), url: z.string(mustBe('an http(s) URL')) })
const plainText = z.object({ type: z.literal('text'), media_type: z.literal('text/plain').nullish(), data: z.string() })
const stored = z.object({ type: z.literal('file'), file_id: id })
const passages = z.object({ type: z.literal('content'), content: z.unknown() })

// Members that are not named here go to Anthropic as they are.
const text = z.looseObject({ type: z.literal('text'), text: z.string(), ...marks })
const image = z.looseObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [base64, url, stored], typeErrors()),
  ...marks,
})
const document = z.looseObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [base64, url, plainText, stored, passages], typeErrors()),
  title: limitedBy(MediaPartSchema.field.name, z.string()).nullish(),
  ...marks,
})
const thinking = z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().nullish() })
const redactedThinking = z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() })
const toolUse = z.looseObject({
  type: z.literal('tool_use'),
  id,
  name: z.string().min(1),
  input: freeObject('Input of the tool.').nullish(),
  /** Proof of the provider that made the call, and its kind, as answers have them. */
  signature: z.string().nullish(),
  format: z.string().nullish(),
  ...marks,
})

/** A block that has a meaning for Anthropic alone, of a type that is none of `known`. */
function other(types: readonly string[]) {
  // It aborts, since a union reports an alternative that does not as the closest.
  const type = z.string().refine((name) => !types.includes(name), { abort: true })
  return guarded(z.looseObject({ type }), objectProblem).meta({
    description: 'A block of any other type is sent to Anthropic unchanged; other providers do not get it.',
  })
}

/** Blocks that a result may hold, and those that it may not. */
const INPUT = [text, image, document] as const
const OUTPUT = [thinking, redactedThinking, toolUse] as const
const resultBlock = z.union([
  z.discriminatedUnion('type', INPUT, typeErrors()),
  other([...[...INPUT, ...OUTPUT].map(({ shape }) => shape.type.value), 'tool_result']),
])
const toolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: id,
  content: textOr(resultBlock, 'blocks').nullish(),
  is_error: z.boolean().nullish(),
  ...marks,
})

const BLOCKS = [...INPUT, ...OUTPUT, toolResult] as const
const block = z
  .union([z.discriminatedUnion('type', BLOCKS, typeErrors()), other(BLOCKS.map(({ shape }) => shape.type.value))])
  .meta({ id: 'Messages.InputBlock' })

export const system = textOr(z.discriminatedUnion('type', [text], typeErrors()), 'blocks')

/**
 * One turn of a conversation. Instructions between others may say more, or how the next answer is made alone: that goes
 * to Anthropic as it is.
 */
export const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('user'), content: textOr(block, 'blocks') }),
    z.object({ role: z.literal('assistant'), content: textOr(block, 'blocks') }),
    z.looseObject({ role: z.literal('system'), content: textOr(block, 'blocks').nullish() }),
  ],
  typeErrors(),
)

/** A block of a type that means something to every provider. */
export type KnownBlock = z.output<(typeof BLOCKS)[number]>
export type MessageBlock = z.output<typeof block>
export type ResultBlock = z.output<typeof resultBlock>
export type InputMessage = z.output<typeof message>
export type System = z.output<typeof system>
export type CacheMarker = z.output<typeof cacheControl>

/** Most blocks of all messages together: to check and pass on more would keep every other request waiting. */
const MAX_BLOCKS_TOGETHER = 50_000

/** They are counted whatever they are, before they are looked at; a message has one at least. */
export function blocksProblem(input: unknown): string | undefined {
  if (!Array.isArray(input)) return undefined
  let blocks = 0
  for (const message of itemsOf(input)) {
    const content = itemsOf(membersOf(message).content)
    blocks += Math.max(content.length, 1)
    for (const block of content) blocks += itemsOf(membersOf(block).content).length
    if (blocks > MAX_BLOCKS_TOGETHER) return `has more than ${MAX_BLOCKS_TOGETHER} blocks`
  }
  return blocks > MAX_BLOCKS_TOGETHER ? `has more than ${MAX_BLOCKS_TOGETHER} blocks` : undefined
}

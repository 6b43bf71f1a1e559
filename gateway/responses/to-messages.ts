import type { MessageInitShape } from '@bufbuild/protobuf'
import { Message_Role, type MessageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { mediaFromUrl } from '../generation/media.ts'
import type { CreateResponseBody } from './body.ts'
import { NATIVE, OPENROUTER } from './hosted.ts'
import { type InputItem, isMessage } from './input.ts'
import { type MadePart as Part, text, toParts, withPhase } from './parts.ts'
import { toThought } from './thought.ts'

type Message = MessageInitShape<typeof MessageSchema>

/**
 * Refuses assistant history in structured form without `id` or `status`, as the specification wants; a plain string
 * needs neither. Rejects with BODY_INVALID.
 */
export function requireHistoryIds(input: string | readonly InputItem[]): void {
  if (typeof input === 'string') return
  for (const [i, item] of input.entries()) {
    if (!isMessage(item) || item.role !== 'assistant' || typeof item.content === 'string') continue
    const missing = item.id == null ? 'id' : item.status == null ? 'status' : undefined
    if (missing === undefined) continue
    throw new Rejection('BODY_INVALID', {
      field: `input.${i}.${missing}`,
      problem: 'is required in assistant messages, except below /v1 or with PORTICO_HISTORY_IDS=false',
    })
  }
}

/**
 * The conversation: what the model said, thought and called between two other turns is one message, and so are the
 * results of its calls. Rejects with BODY_INVALID where a picture, file or sound cannot be read, or where nothing is
 * said.
 */
export function toMessages(body: Pick<CreateResponseBody, 'instructions' | 'input' | 'prompt_cache_options'>): {
  readonly messages: Message[]
  readonly origins: Origins
} {
  const { instructions, input } = body
  const turns = new Turns()
  const ttl = body.prompt_cache_options?.ttl ?? undefined
  if (instructions != null && instructions !== '') turns.add(Message_Role.SYSTEM, [text(instructions)])
  if (typeof input === 'string') turns.add(Message_Role.USER, [text(input)])
  else {
    for (const [i, item] of input.entries()) {
      turns.item = i
      addItem(turns, item, `input.${i}`, ttl)
    }
  }
  if (turns.messages.length === 0) throw new Rejection('BODY_INVALID', { field: 'input', problem: 'must have content' })
  return turns
}

/** An item of an input, and a part of the item. */
interface Origin {
  readonly item: number
  readonly part: number
}

/** By message and part: what it was made of. The instructions, and an input that is a text, have none. */
export type Origins = readonly (readonly Origin[])[]

class Turns {
  readonly messages: Message[] = []
  readonly origins: Origin[][] = []
  /** The item that is added; undefined: none, so what is added comes from elsewhere. */
  item: number | undefined
  #role: Message_Role | undefined
  #parts: Part[] = []

  /** Content without parts is left out. */
  add(role: Message_Role, parts: readonly Part[]): void {
    if (parts.length === 0) return
    const joins = role === this.#role && (role === Message_Role.ASSISTANT || role === Message_Role.TOOL)
    if (joins) for (const part of parts) this.#parts.push(part)
    else {
      this.#role = role
      this.#parts = [...parts]
      this.messages.push({ role, parts: this.#parts })
      this.origins.push([])
    }
    const { item } = this
    if (item !== undefined) for (const part of parts.keys()) this.origins.at(-1)?.push({ item, part })
  }
}

const ROLES = {
  system: Message_Role.SYSTEM,
  developer: Message_Role.SYSTEM,
  user: Message_Role.USER,
  assistant: Message_Role.ASSISTANT,
} as const

function addItem(turns: Turns, item: InputItem, field: string, ttl: string | undefined): void {
  if (isMessage(item)) {
    const parts = toParts(item.content ?? [], `${field}.content`, ttl)
    turns.add(ROLES[item.role], item.role === 'assistant' ? parts.map((part) => withPhase(part, item.phase)) : parts)
    return
  }
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
      turns.add(Message_Role.ASSISTANT, [{ part: { case: 'toolCall', value: toCall(item) } }])
      return
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const content = toParts(item.output, `${field}.output`, ttl)
      const custom = item.type === 'custom_tool_call_output'
      turns.add(Message_Role.TOOL, [{ part: { case: 'toolResult', value: { callId: item.call_id, content, custom } } }])
      return
    }
    case 'reasoning': {
      const part = toThought(item)
      if (part !== undefined) turns.add(Message_Role.ASSISTANT, [part])
      return
    }
    case 'image_generation_call': {
      if (!item.result) return
      const url = /^(https?|data):/i.test(item.result) ? item.result : `data:image/png;base64,${item.result}`
      turns.add(Message_Role.ASSISTANT, [{ part: { case: 'image', value: mediaFromUrl(url, `${field}.result`) } }])
      return
    }
    case 'additional_tools':
      // They are offered with the others.
      return
    default: {
      const role = CLIENTS.test(item.type) ? Message_Role.TOOL : Message_Role.ASSISTANT
      const format = item.type.startsWith('openrouter:') ? OPENROUTER : NATIVE
      const value = { format, item }
      turns.add(role, [{ part: { case: 'foreign', value } }])
    }
  }
}

/** Items of hosted tools with the result of a call are the client's; the others were made by the model. */
const CLIENTS = /_output$|_response$|^configuration_update$/

function toCall(item: Extract<InputItem, { type: 'function_call' | 'custom_tool_call' }>) {
  const { call_id: callId, name, namespace } = item
  const group = namespace ? { namespace } : {}
  if (item.type === 'custom_tool_call') return { callId, name, arguments: item.input, custom: true, ...group }
  const { arguments: text, signature, format } = item
  return { callId, name, arguments: text, ...group, signature: signature ?? undefined, format: format ?? undefined }
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import { Message_Role, type MessageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { InputMessage, System } from './blocks.ts'
import { type Part, passedOn, textPart, toPart } from './to-part.ts'
import { ANTHROPIC } from './to-settings.ts'

type Message = MessageInitShape<typeof MessageSchema>

interface Conversation {
  readonly system?: System | null | undefined
  readonly messages: readonly InputMessage[]
}

/**
 * The messages that turns become. Rejects with BODY_INVALID where a picture or document cannot be read, or where
 * nothing is said.
 */
export function toMessages(turns: readonly Turn[]): Message[] {
  if (!turns.some(({ role }) => role !== Message_Role.SYSTEM)) {
    throw new Rejection('BODY_INVALID', { field: 'messages', problem: 'must have content' })
  }
  return turns.map(({ role, at, content, from, to, more }) => {
    const parts: Part[] = []
    if (typeof content === 'string') parts.push(textPart(content))
    else for (let i = from; i < to; i++) parts.push(toPart(content[i] as (typeof content)[number], `${at}.${i}`))
    return { role, parts, providerMetadata: more && { [ANTHROPIC]: passedOn(more, at) } }
  })
}

/** A range of the blocks of a message that becomes one message of the generation. */
export interface Turn {
  readonly role: Message_Role
  /** Path of the content. */
  readonly at: string
  readonly content: Content
  readonly from: number
  to: number
  /** Further members, for Anthropic alone; undefined: none. */
  readonly more?: object
}

type Content = NonNullable<InputMessage['content']>

const ROLES = { user: Message_Role.USER, assistant: Message_Role.ASSISTANT, system: Message_Role.SYSTEM } as const

/**
 * The turns of a conversation. Results of tools, which stand in messages of the user, are turns of their own; content
 * without blocks is left out.
 */
export function toTurns({ system, messages }: Conversation): Turn[] {
  const turns: Turn[] = []
  const add = (role: Message_Role, at: string, content: Content): void => {
    if (typeof content === 'string') {
      if (content !== '') turns.push({ role, at, content, from: 0, to: 1 })
      return
    }
    let last: Turn | undefined
    for (const [i, { type }] of content.entries()) {
      const own = type === 'tool_result' && role === Message_Role.USER ? Message_Role.TOOL : role
      if (last?.role === own) {
        last.to = i + 1
        continue
      }
      last = { role: own, at, content, from: i, to: i + 1 }
      turns.push(last)
    }
  }
  if (system != null) add(Message_Role.SYSTEM, 'system', system)
  for (const [i, { role, content, ...rest }] of messages.entries()) {
    const at = `messages.${i}.content`
    const more = Object.fromEntries(Object.entries(rest).filter(([, value]) => value != null))
    if (Object.keys(more).length === 0) add(ROLES[role], at, content ?? '')
    else {
      const to = typeof content === 'string' ? 1 : (content?.length ?? 0)
      turns.push({ role: ROLES[role], at, content: content ?? [], from: 0, to, more })
    }
  }
  return turns
}

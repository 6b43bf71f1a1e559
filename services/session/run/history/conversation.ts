import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { isInput, isSummary, type StoredMessage } from '#services/session/domain/message.ts'
import { bytesOf } from '#services/session/domain/message-size.ts'
import { cameToNothing } from '#services/session/domain/next-action.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import { RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { RunFailure } from '../run-context.ts'
import { readMessages } from './read-messages.ts'

/** The conversation as far as it was read. */
export interface Conversation {
  /** The messages, beginning with the last turn before the last summary. */
  readonly messages: readonly Message[]
  /** Place of the last message. */
  readonly lastSeq: number
  /** Its size; see `MOST_BYTES`. */
  readonly bytes: number
}

/**
 * Most bytes of a conversation beside its files, each part counting for `RECORD_BYTES` more than it says. No model
 * takes so much, and with 40 MiB of files it stays below what is sent between processes.
 */
export const MOST_BYTES = 20 * 1_048_576

export function extended({ messages, lastSeq, bytes }: Conversation, more: readonly StoredMessage[]): Conversation {
  return {
    messages: [...messages, ...more.map(({ message }) => message)],
    lastSeq: more.at(-1)?.seq ?? lastSeq,
    bytes: more.reduce((sum, { message }) => sum + sizeOf(message), bytes),
  }
}

/** A conversation in which a message is as it is now; what a summary stands for is left out. */
export function replaced({ messages, lastSeq, bytes }: Conversation, changed: Message): Conversation {
  const all = messages.map((message) => (message.messageId === changed.messageId ? changed : message))
  if (!isSummary(changed)) return { messages: all, lastSeq, bytes }
  const place = all.indexOf(changed)
  const from = all.findLastIndex((message, i) => i < place && isTurn(message))
  const kept = all.slice(from < 0 ? place : from)
  return { messages: kept, lastSeq, bytes: all.slice(place).reduce((sum, message) => sum + sizeOf(message), 0) }
}

/** Whether a message determines how a summarized run continues: an input, or a step with a result. */
export function isTurn(message: Message): boolean {
  return isInput(message) || (message.kind.case === 'assistant' && !cameToNothing(message.kind.value))
}

export function sizeOf(message: Message): number {
  const { kind } = message
  return bytesOf(message) + RECORD_BYTES * (1 + (kind.case === 'assistant' ? kind.value.parts.length : 0))
}

/** Whether no model could be shown the conversation. */
export function isTooLarge({ bytes }: Pick<Conversation, 'bytes'>): boolean {
  return bytes > MOST_BYTES
}

/** Throws RunFailure when no model could be shown the conversation. */
export function checkSize(conversation: Conversation): void {
  if (!isTooLarge(conversation)) return
  const message = `The conversation has more than ${MOST_BYTES} bytes, which is more than a model can be shown`
  throw new RunFailure(structuredError('context.too_large', message))
}

/** How many messages before a summary are searched for its last turn. */
const MOST_BEHIND = 1_000

/**
 * Reads what a model is shown of a session: from the newest message back to the last summary, and the last turn before
 * that, which determines how the run continues. Others have their turns in between. If the conversation is too large
 * (`isTooLarge`), only its newest messages are read.
 */
export async function readConversation(
  store: Pick<SessionStore, 'listMessages'>,
  { workspace, sessionId }: SessionKey,
): Promise<Conversation> {
  const newest: Message[] = []
  let lastSeq = 0
  let bytes = 0
  let behind: number | undefined
  try {
    for await (const { seq, message } of readMessages(store, workspace, sessionId, Order.DESCENDING)) {
      lastSeq = Math.max(lastSeq, seq)
      if (behind === undefined) bytes += sizeOf(message)
      if (isTooLarge({ bytes })) break
      newest.push(message)
      if (behind !== undefined && (isTurn(message) || ++behind === MOST_BEHIND)) break
      if (isSummary(message)) behind ??= 0
    }
  } catch (error) {
    // It was removed: the next write learns that the lease went with it.
    if (!(error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND')) throw error
  }
  return { messages: newest.reverse(), lastSeq, bytes }
}

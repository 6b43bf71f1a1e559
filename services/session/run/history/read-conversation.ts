import { isSummary, type Message } from '#services/session/domain/message.ts'
import { bytesOf } from '#services/session/domain/messages/size.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import { RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Conversation } from '../owned-session.ts'
import { RunFailure } from '../run-context.ts'
import { readMessages } from './read-messages.ts'

/**
 * Most bytes of a conversation beside its files, each part counting for `RECORD_BYTES` more than it says. No model takes so much,
 * and with 40 MiB of files it stays below what is sent between processes.
 */
const MOST_BYTES = 20 * 1_048_576

/**
 * Reads what a model is shown of a session, from its newest message back to the last summary, with turns for others between. Of one that
 * is too large nothing is kept but its place and its size: see `checkSize`.
 */
export async function readConversation(
  store: Pick<SessionStore, 'listMessages'>,
  { workspace, sessionId }: SessionKey,
): Promise<Conversation> {
  const newest: Message[] = []
  let [lastSeq, bytes] = [0, 0]
  try {
    for await (const { seq, message } of readMessages(store, workspace, sessionId, 'descending')) {
      lastSeq = Math.max(lastSeq, seq)
      bytes += sizeOf(message)
      if (bytes > MOST_BYTES) return { messages: [], lastSeq, bytes }
      newest.push(message)
      if (isSummary(message)) break
    }
  } catch (error) {
    // It was removed: the next write learns that the lease went with it.
    if (!(error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND')) throw error
  }
  return { messages: newest.reverse(), lastSeq, bytes }
}

/** How much a message counts. */
export function sizeOf(message: Message): number {
  return bytesOf(message) + RECORD_BYTES * (1 + (message.type === 'assistant' ? message.parts.length : 0))
}

/** Throws RunFailure when no model could be shown the conversation. */
export function checkSize({ bytes }: Conversation): void {
  if (bytes <= MOST_BYTES) return
  const message = `The conversation has more than ${MOST_BYTES} bytes, which is more than a model can be shown`
  throw new RunFailure({ type: 'context.too_large', message })
}

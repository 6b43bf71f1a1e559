import { isSummary, type Message } from '#services/session/domain/message.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Conversation, isTooLarge, isTurn, sizeOf } from './conversation.ts'
import { readMessages } from './read-messages.ts'

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
    for await (const { seq, message } of readMessages(store, workspace, sessionId, 'descending')) {
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

import { create } from '@bufbuild/protobuf'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { type ForkOrigin, type Session, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { isSettled, type StoredMessage } from '../message.ts'
import type { CreateSession } from '../new-session.ts'
import { Revision } from '../revision.ts'
import { NO_TOKENS } from '../session.ts'
import { newState } from '../session-state.ts'

/** Characters of a title before the mark, which must not make it too long. */
const MAX_UNMARKED_LENGTH = 4_000
const FORK_MARK = / \(fork #(\d{1,9})\)$/

/**
 * Makes the session of a fork: like its source as it is now, but with these permissions, with no cost, no parent and no
 * run behind it. Its first event has that id.
 */
export function forkedSession(
  source: Session,
  permissions: Session['permissions'],
  fork: ForkOrigin,
  id: string,
  eventId: string,
): CreateSession {
  return (now, newId, seq) => {
    const { agent, model, directory, projectId, subpath, metadata } = source
    const session = create(SessionSchema, {
      sessionId: id,
      fork,
      title: forkTitle(source.title),
      agent,
      model,
      directory,
      projectId,
      subpath,
      metadata,
      permissions,
      tokens: NO_TOKENS,
      createTime: now,
      updateTime: now,
    })
    const ownId: typeof newId = (prefix) => (prefix === 'evt' ? eventId : newId(prefix))
    const revision = new Revision(newState(session, now, seq), now, now, ownId)
    revision.event({ case: 'sessionForked', value: { fork } })
    return { session, revision }
  }
}

/** A title with the mark of a fork, or with the next number in it. */
function forkTitle(title: string | undefined): string | undefined {
  if (title === undefined) return undefined
  const number = Number(FORK_MARK.exec(title)?.[1] ?? 0) + 1
  return `${title.replace(FORK_MARK, '').slice(0, MAX_UNMARKED_LENGTH).toWellFormed()} (fork #${number})`
}

/**
 * The messages that a fork copies: the settled ones, under ids derived from the fork's first event and their places.
 */
export function forkedMessages(messages: readonly StoredMessage[], eventId: string): Message[] {
  const prefix = eventId.replace(/^evt_/, 'msg_')
  return messages
    .filter(({ message }) => isSettled(message))
    .map(({ seq, message }) => ({ ...message, messageId: `${prefix}_${seq}` }))
}

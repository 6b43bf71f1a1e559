import type { Session, SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import { type NewId, Revision } from './revision.ts'
import { NO_TOKENS } from './session.ts'
import { newState } from './session-state.ts'

/** A session that is about to be written, and the revision that writes it. */
export interface Creation {
  readonly session: Session
  readonly revision: Revision
}

/** Makes a session whose numbers go on after `seq`. */
export type CreateSession = (now: number, newId: NewId, seq: number) => Creation

/** Makes a session with its SessionCreated event. */
export function newSession(input: Session, now: number, newId: NewId, seq = 0): Creation {
  const session: Session = { ...input, tokens: NO_TOKENS, createTime: now, updateTime: now }
  const revision = new Revision(newState(session, now, seq), now, now, newId)
  revision.event({ case: 'sessionCreated', value: { session } })
  return { session, revision }
}

/**
 * Makes a session of an import, with its SessionCreated event; it is listed as of now, and no run of it ended later.
 */
export function importedSession(imported: Session, { directory, projectId, subpath }: SessionLocation): CreateSession {
  return (now, newId, seq) => {
    const past = (time: number | undefined) => time && Math.min(time, now)
    const times = { updateTime: now, idleTime: past(imported.idleTime), viewTime: past(imported.viewTime) }
    const session: Session = { ...imported, directory, projectId, subpath, ...times }
    const revision = new Revision(newState(session, now, seq), now, now, newId)
    revision.event({ case: 'sessionCreated', value: { session } })
    return { session, revision }
  }
}

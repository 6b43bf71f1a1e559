import type { Session, SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '../new-session.ts'
import { Revision } from '../revision.ts'
import { newState } from '../session-state.ts'

/**
 * Makes a session of an import, with its session-created event; it is listed as of now, and no run of it ended later.
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

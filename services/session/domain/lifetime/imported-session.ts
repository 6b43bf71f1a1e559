import type { CreateSession } from '../new-session.ts'
import { Revision } from '../revision.ts'
import type { Session } from '../session.ts'
import { newState } from '../session-state.ts'

/** The data of an imported session. */
export type ImportedSession = Omit<Session, 'location' | 'timeUpdated'>

/**
 * Makes a session of an import, with its session-created event; it is listed as of now, and no run of it ended later.
 */
export function importedSession(imported: ImportedSession, location: Session['location']): CreateSession {
  return (now, newId, seq) => {
    const past = (time: number | undefined) => time && Math.min(time, now)
    const times = { timeUpdated: now, timeIdle: past(imported.timeIdle), timeViewed: past(imported.timeViewed) }
    const session: Session = { ...imported, location, ...times }
    const revision = new Revision(newState(session, now, seq), now, now, newId)
    revision.event({ type: 'session-created', session })
    return { session, revision }
  }
}

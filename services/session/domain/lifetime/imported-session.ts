import type { CreateSession } from '../new-session.ts'
import { Revision } from '../revision.ts'
import type { Session } from '../session.ts'
import { newState } from '../session-state.ts'

/** What an import says of its session. */
export type ImportedSession = Omit<Session, 'location' | 'timeUpdated'>

/** Makes a session of an import, with its session-created event; it is listed as of now. */
export function importedSession(imported: ImportedSession, location: Session['location']): CreateSession {
  return (now, newId, seq) => {
    const session: Session = { ...imported, location, timeUpdated: now }
    const revision = new Revision(newState(session, now, seq), now, now, newId)
    revision.event({ type: 'session-created', session })
    return { session, revision }
  }
}

import type { NewId } from '#services/session/domain/revision.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { SessionChanges } from '../common/session-changes.ts'
import type { SqliteEventLog } from './events/event-log.ts'
import type { HiddenSessions } from './hidden-sessions.ts'

/** What the objects that keep parts of the port have in common. */
export interface StoreParts {
  readonly file: SqliteFile
  readonly log: SqliteEventLog
  readonly hidden: HiddenSessions
  readonly clock: Clock
  readonly newId: NewId
  readonly changes: SessionChanges
}

import type { NewId } from '#services/session/domain/revision.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { joinPorts } from '../common/join-ports.ts'
import { SessionChanges } from '../common/session-changes.ts'
import { SQLITE } from '../schema.ts'
import { BlobUses } from './blob-uses.ts'
import { SqliteEventLog } from './events/event-log.ts'
import { WorkspaceNumbers } from './events/workspace-numbers.ts'
import { HiddenSessions } from './hidden-sessions.ts'
import { voidLeases } from './leases.ts'
import { SqliteRemoval } from './removal.ts'
import { SqliteSessionLists } from './session-lists.ts'
import { SqliteSessionStore } from './session-store.ts'
import { SqliteStaging } from './staging.ts'

/**
 * Sessions in a SQLite file, which is made when it is missing, and kept from every other process. Opening it voids the
 * leases in it: nobody else can hold one.
 */
export async function openSqliteSessionStore(options: {
  readonly path: string
  readonly clock: Clock
  readonly newId?: NewId
  /** Parks what waits. */
  readonly park?: boolean
}): Promise<SessionStore & { readonly blobUses: BlobUses }> {
  const { path, clock, newId = (prefix) => timedId(prefix, clock), park = false } = options
  const undone = (): void => workspaces.forget()
  const file = new SqliteFile(path, { schema: SQLITE, exclusive: true, undone })
  const workspaces = new WorkspaceNumbers(file)
  try {
    // 16 MiB instead of 4: pages that many writes touch are copied back less often.
    file.statement('PRAGMA wal_autocheckpoint = 4000').get()
    const { log, hidden } = await file.write(() => {
      voidLeases(file, clock.now(), park)
      const hidden = new HiddenSessions(file, workspaces)
      return { log: new SqliteEventLog(file, hidden, workspaces), hidden }
    })
    const parts = { file, log, hidden, clock, newId, changes: new SessionChanges() }
    const others = [new SqliteSessionLists(parts), new SqliteRemoval(parts), new SqliteStaging(parts)] as const
    return Object.assign(joinPorts(new SqliteSessionStore(parts), ...others), { blobUses: new BlobUses(file) })
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

import type { SQLOutputValue } from 'node:sqlite'
import { nextClaim } from '#services/session/domain/session-state.ts'
import type { AcquiredLease, Lease, LeaseState } from '#services/session/ports/lease.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

const OLDEST = `SELECT number, leaseUntil FROM sessions
  WHERE claimableAt <= ? AND workspace NOT IN (SELECT value FROM json_each(?)) ORDER BY claimableAt LIMIT 1`

/** Whether a lease is available, of workspaces other than these. */
export function hasClaim(file: SqliteFile, now: number, except: readonly string[]): boolean {
  return file.statement(OLDEST).get(now, JSON.stringify(except)) !== undefined
}

/** Grants the lease that has been available longest; to be called in a job. */
export function claimLease(
  file: SqliteFile,
  owner: string,
  now: number,
  durationMs: number,
  except: readonly string[],
): AcquiredLease | undefined {
  const oldest = file.statement(OLDEST).get(now, JSON.stringify(except))
  if (oldest === undefined) return undefined
  const sql = `UPDATE sessions SET fence = fence + 1, acquisitions = acquisitions + 1, leaseOwner = ?, leaseUntil = ?, claimableAt = ?
    WHERE number = ? RETURNING workspace, sessionId, fence, acquisitions, running`
  const until = now + durationMs
  const row = file.statement(sql).get(owner, until, until, oldest.number as number) as Record<string, SQLOutputValue>
  return {
    workspace: row.workspace as string,
    sessionId: row.sessionId as string,
    fence: row.fence as number,
    unfinished: row.running === 1,
    acquisitions: row.acquisitions as number,
    heldUntil: oldest.leaseUntil as number,
  }
}

/** Extends a lease; undefined when it is lost. To be called in a job. */
export function renewLease(
  file: SqliteFile,
  { workspace, sessionId, fence }: Lease,
  now: number,
  durationMs: number,
): LeaseState | undefined {
  const sql = `UPDATE sessions SET leaseUntil = ?, claimableAt = CASE WHEN claimableAt > 0 THEN ? END
    WHERE workspace = ? AND sessionId = ? AND fence = ? AND leaseUntil > ? RETURNING interruptRequested`
  const until = now + durationMs
  const row = file.statement(sql).get(until, until, workspace, sessionId, fence, now)
  return row && { interruptRequested: row.interruptRequested === 1 }
}

/** Ends every lease; what was leased is available at once. `park`: what waits is parked. To be called in a job. */
export function voidLeases(file: SqliteFile, now: number, park: boolean): void {
  const update = file.statement('UPDATE sessions SET leaseUntil = 0, due = ?, claimableAt = ? WHERE number = ?')
  for (const row of file.statement(park ? `${LEASED} UNION ${DUE}` : LEASED).all() as unknown as VoidedRow[]) {
    const due = row.due === 1 && !park
    const state = { running: row.running === 1, due, leaseUntil: 0, claimableAt: row.claimableAt ?? undefined }
    update.run(due ? 1 : 0, nextClaim(state, now) ?? null, row.number)
  }
}

const VOIDED = 'SELECT number, running, due, claimableAt FROM sessions INDEXED BY'
const LEASED = `${VOIDED} sessionsLeased WHERE leaseUntil > 0`
/** Whatever is due can be claimed. */
const DUE = `${VOIDED} sessionsClaimable WHERE claimableAt IS NOT NULL AND due = 1`

interface VoidedRow {
  readonly number: number
  readonly running: number
  readonly due: number
  readonly claimableAt: number | null
}

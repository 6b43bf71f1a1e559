import { type PublicRecord, SESSION_FIELDS, STATE_FIELDS, type StateRecord } from '../common/session-record.ts'

// Sessions are read as arrays (`SqliteFile.rows`): with the objects that node:sqlite makes, whose members are slow to
// read, a page of sessions takes twice as long.

type RowOf<R, F extends readonly (keyof R)[]> = { readonly [I in keyof F]: R[F[I]] }

/** What `toSession` reads, as columns. */
export const SESSION_COLUMNS = SESSION_FIELDS.join(', ')
/** Values of SESSION_COLUMNS. */
export type SessionRow = RowOf<PublicRecord, typeof SESSION_FIELDS>

/** What `toState` reads, as columns. */
export const STATE_COLUMNS = STATE_FIELDS.join(', ')
/** Values of STATE_COLUMNS. */
export type StateRow = RowOf<StateRecord, typeof STATE_FIELDS>

// biome-ignore format: one name for each column, in their order.
export function toPublicRecord([
  id, parentId, fork, title, agent, model, directory, projectId, subpath, metadata, permissions, costNanos, tokens, outcome,
  timeCreated, timeUpdated, timeIdle, timeViewed, timeArchived,
]: SessionRow): PublicRecord {
  return {
    id, parentId, fork, title, agent, model, directory, projectId, subpath, metadata, permissions, costNanos, tokens, outcome,
    timeCreated, timeUpdated, timeIdle, timeViewed, timeArchived,
  }
}

// biome-ignore format: likewise.
export function toStateRecord([
  id, directory, projectId, subpath, agent, model, costNanos, tokens, outcome, timeUpdated, timeIdle, timeViewed, titling, seq, due,
  wake, running, interruptRequested, lastAdmitter, fence, attempts, leaseUntil, claimableAt,
]: StateRow): StateRecord {
  return {
    id, directory, projectId, subpath, agent, model, costNanos, tokens, outcome, timeUpdated, timeIdle, timeViewed, titling, seq, due,
    wake, running, interruptRequested, lastAdmitter, fence, attempts, leaseUntil, claimableAt,
  }
}

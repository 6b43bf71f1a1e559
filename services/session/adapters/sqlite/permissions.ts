import { setImmediate } from 'node:timers/promises'
import type { PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PermissionRequest, SavedApproval } from '#gen/portico/session/v1/session_pb.js'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll } from '#shared/stores/sqlite-table.ts'
import { MOST_APPROVALS } from '../common/session-lists.ts'
import { approvals, requests, toApproval, toRequests, toRule } from '../tables/permissions.ts'

/** See SessionLists. */
export function sessionOfRequest(file: SqliteFile, workspace: string, id: string, now: number): string | undefined {
  const sql = 'SELECT sessionId FROM requests WHERE workspace = ? AND id = ? AND reply IS NULL AND timeExpires > ?'
  return file.statement(sql).get(workspace, id, now)?.sessionId as string | undefined
}

export function listPermissionRequests(
  file: SqliteFile,
  workspace: string,
  sessionId: string | undefined,
  now: number,
): PermissionRequest[] {
  const session = sessionId === undefined ? '' : 'AND sessionId = ?'
  const order = sessionId === undefined ? 'timeCreated, seq' : 'seq'
  const waiting = `FROM requests WHERE workspace = ? AND reply IS NULL AND timeExpires > ? ${session}
    ORDER BY ${order} LIMIT 1000`
  const values = sessionId === undefined ? [workspace, now] : [workspace, now, sessionId]
  return toRequests(selectAll(file, requests.columns, waiting, ...values))
}

/** How many of the waiting requests are read at once. */
const BATCH = 256

/** See SessionLists.waitingRequests. */
export async function* waitingRequests(
  file: SqliteFile,
  workspace: string,
  now: number,
): AsyncGenerator<readonly PermissionRequest[]> {
  const waiting = `FROM requests WHERE workspace = ? AND reply IS NULL AND timeExpires > ?
    AND (timeCreated, seq, id) > (?, ?, ?) ORDER BY timeCreated, seq, id LIMIT ${BATCH}`
  let after: readonly [number, number, string] = [0, 0, '']
  for (;;) {
    const records = selectAll(file, requests.columns, waiting, workspace, now, ...after)
    yield toRequests(records)
    const last = records.at(-1)
    if (last === undefined || records.length < BATCH) return
    after = [last.timeCreated, last.seq, last.id]
    await setImmediate()
  }
}

export function savedApprovals(file: SqliteFile, workspace: string, projectId: string): PermissionRule[] {
  const saved = 'FROM approvals WHERE workspace = ? AND projectId = ?'
  return selectAll(file, approvals.columns, saved, workspace, projectId).map(toRule)
}

export function listApprovals(file: SqliteFile, workspace: string, projectId: string | undefined): SavedApproval[] {
  const project = projectId === undefined ? [] : [projectId]
  const saved = `FROM approvals WHERE workspace = ? ${project.length === 0 ? '' : 'AND projectId = ?'}
    ORDER BY projectId, action, pattern LIMIT ?`
  return selectAll(file, approvals.columns, saved, workspace, ...project, MOST_APPROVALS).map(toApproval)
}

export async function deleteApproval(file: SqliteFile, workspace: string, approvalId: string): Promise<void> {
  const sql = 'DELETE FROM approvals WHERE workspace = ? AND id = ?'
  await file.write(() => file.statement(sql).run(workspace, approvalId))
}

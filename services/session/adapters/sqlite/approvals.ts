import type { PermissionRule, SavedApproval } from '#services/session/domain/permission/permission.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { MOST_APPROVALS } from '../common/session-lists.ts'

/** Approvals saved for a project, as rules. */
export function savedApprovals(file: SqliteFile, workspace: string, projectId: string): PermissionRule[] {
  const sql = `SELECT action, pattern AS resource, 'allow' AS effect FROM approvals WHERE workspace = ? AND projectId = ?`
  return file.statement(sql).all(workspace, projectId) as unknown as PermissionRule[]
}

export function listApprovals(file: SqliteFile, workspace: string, projectId: string | undefined): SavedApproval[] {
  const project = projectId === undefined ? [] : [projectId]
  const sql = `SELECT id, projectId, action, pattern FROM approvals WHERE workspace = ?
    ${project.length === 0 ? '' : 'AND projectId = ?'} ORDER BY projectId, action, pattern LIMIT ?`
  return file.statement(sql).all(workspace, ...project, MOST_APPROVALS) as unknown as SavedApproval[]
}

export async function deleteApproval(file: SqliteFile, workspace: string, approvalId: string): Promise<void> {
  const sql = 'DELETE FROM approvals WHERE workspace = ? AND id = ?'
  await file.write(() => file.statement(sql).run(workspace, approvalId))
}

import type { PermissionRule, SavedApproval } from '#services/session/domain/permission/permission.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { MOST_APPROVALS } from '../common/session-lists.ts'
import type { Collections } from './collections.ts'

/** Approvals saved for a project, as rules. */
export async function savedApprovals(
  { approvals }: Collections,
  workspace: string,
  projectId: string,
): Promise<PermissionRule[]> {
  const cursor = approvals.find({ workspace, projectId }, { maxTimeMS: MAX_TIME_MS })
  return (await cursor.toArray()).map(({ action, pattern }) => ({ action, resource: pattern, effect: 'allow' }))
}

export async function listApprovals(
  { approvals }: Collections,
  workspace: string,
  projectId: string | undefined,
): Promise<SavedApproval[]> {
  const filter = { workspace, ...(projectId === undefined ? {} : { projectId }) }
  const sort = { projectId: 1, action: 1, pattern: 1 } as const
  const cursor = approvals.find(filter, { sort, limit: MOST_APPROVALS, maxTimeMS: MAX_TIME_MS })
  return (await cursor.toArray()).map(({ id, projectId, action, pattern }) => ({ id, projectId, action, pattern }))
}

export async function deleteApproval({ approvals }: Collections, workspace: string, approvalId: string): Promise<void> {
  await approvals.deleteOne({ workspace, id: approvalId }, { maxTimeMS: MAX_TIME_MS })
}

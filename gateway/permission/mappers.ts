import type { SavedApproval } from '#gen/portico/session/v1/session_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { savedApproval } from './schemas.ts'

export function fromSavedApproval({
  approvalId,
  projectId,
  action,
  pattern,
}: SavedApproval): JsonOf<typeof savedApproval> {
  return { id: approvalId, projectID: projectId, action, resource: pattern }
}

import type { ClientSession } from 'mongodb'
import { AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { By } from '#services/identity/domain/audit.ts'
import type { NewOrganization } from '#services/identity/ports/organization-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { toRow } from '#shared/stores/table.ts'
import { keySnapshot, organizationSnapshot } from '../snapshots.ts'
import { changedKeyRow, keyRow } from '../tables/api-keys.ts'
import { organizations as organizationTable, workspaceRow } from '../tables/organizations.ts'
import { logChange } from './audit-entries.ts'
import { type Collections, keyOf } from './documents.ts'
import type { OrganizationChange } from './organization-changes.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

export interface KeyChange extends OrganizationChange {
  readonly by: By
}

/** Writes a key and its audit entry. */
export async function insertKey(collections: Collections, change: KeyChange, key: ApiKey): Promise<ApiKey> {
  const { session } = change
  const { workspaceId, keyId } = key
  const owner = await collections.workspaces.findOneAndUpdate(
    { _id: workspaceId },
    { $inc: { lastSeq: 1 } },
    { returnDocument: 'after', session, ...LIMIT },
  )
  if (owner === null) throw new Error(`There is no workspace ${workspaceId}`)
  const { organizationId, lastSeq: seq, limitNanos: workspaceLimitNanos } = owner
  const document = { _id: keyOf(workspaceId, keyId), ...keyRow(key), seq, organizationId, workspaceLimitNanos }
  await collections.apiKeys.insertOne(document, { session, ...LIMIT })
  await logKey(collections, change, keyId, { after: keySnapshot(key) })
  return key
}

/** Writes the mutable members of a key. */
export async function updateKey({ apiKeys }: Collections, { session }: KeyChange, key: ApiKey): Promise<void> {
  const _id = keyOf(key.workspaceId, key.keyId)
  await apiKeys.updateOne({ _id }, { $set: changedKeyRow(key) }, { session, ...LIMIT })
}

/** Writes the audit entry of a change to a key. */
export function logKey(
  collections: Collections,
  { session, organizationId, position, by }: KeyChange,
  resourceId: string,
  snapshots: { readonly before?: JsonObject; readonly after?: JsonObject },
): Promise<void> {
  const changed = { organizationId, resource: Resource.API_KEY, resourceId, ...snapshots }
  return logChange(collections, session, position, changed, by)
}

/**
 * Writes an organization with its workspace and its audit entry, in a transaction; also takes positions for `more`
 * further entries.
 */
export async function insertOrganization(
  collections: Collections,
  session: ClientSession,
  { organization, workspace }: NewOrganization,
  by: By,
  more: number,
): Promise<void> {
  const { organizationId } = organization
  const { organizations, workspaces, auditPositions, changeLocks } = collections
  const options = { session, ...LIMIT }
  await organizations.insertOne({ _id: organizationId, ...toRow(organizationTable.columns, organization) }, options)
  await workspaces.insertOne({ _id: workspace.id, ...workspaceRow(organization, workspace) }, options)
  await auditPositions.insertOne({ _id: organizationId, last: 1 + more }, options)
  await changeLocks.insertOne({ _id: organizationId, changes: 0 }, options)
  const of = { organizationId, resource: Resource.ORGANIZATION, resourceId: organizationId }
  await logChange(collections, session, 1, { ...of, after: organizationSnapshot(organization) }, by)
}

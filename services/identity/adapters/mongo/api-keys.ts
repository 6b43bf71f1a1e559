import { toJson } from '@bufbuild/protobuf'
import type { ClientSession } from 'mongodb'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { type ApiKey, NO_TERMS } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
import type { Plan } from '#services/identity/domain/organization.ts'
import type { NewApiKey } from '#services/identity/ports/identity-store.ts'
import type { NewOrganization } from '#services/identity/ports/organization-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { creatorOf } from '../stored/records.ts'
import { keySnapshot, organizationSnapshot } from '../stored/snapshots.ts'
import { logChange } from './audit-entries.ts'
import { type ApiKeyDocument, type Collections, toKey } from './documents.ts'
import type { OrganizationChange } from './organization-changes.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** A change of a key. */
export interface KeyChange extends OrganizationChange {
  readonly organizationId: string
  readonly by: By
}

/** Writes a key and its audit entry. */
export async function insertKey(
  collections: Collections,
  { session, ...change }: KeyChange,
  workspace: string,
  newKey: NewApiKey,
): Promise<ApiKey> {
  const owner = await collections.workspaces.findOneAndUpdate(
    { _id: workspace },
    { $inc: { lastSeq: 1 } },
    { returnDocument: 'after', session, ...LIMIT },
  )
  if (owner === null) throw new Error(`There is no workspace ${workspace}`)
  const { id, hash, kind, name, prefix, terms = NO_TERMS, timeCreated, timeExpires = null } = newKey
  const { organizationId, lastSeq: seq, limitNanos: workspaceLimitNanos } = owner
  const document: ApiKeyDocument = {
    _id: { workspace, id },
    organizationId,
    workspaceLimitNanos,
    seq,
    hash,
    kind,
    name,
    prefix,
    disabled: false,
    terms: toJson(KeyTermsSchema, terms),
    creatorKeyId: creatorOf(change.by) ?? null,
    timeCreated,
    timeUpdated: timeCreated,
    timeExpires,
  }
  await collections.apiKeys.insertOne(document, { session, ...LIMIT })
  const key = toKey(document)
  await logKey(collections, { session, ...change }, id, { after: keySnapshot(key) })
  return key
}

/** Writes the mutable members of a key. */
export async function updateKey({ apiKeys }: Collections, { session }: KeyChange, key: ApiKey): Promise<void> {
  const { workspaceId: workspace, id, name, disabled, terms, timeUpdated, timeExpires = null } = key
  const $set = { name, disabled, terms: toJson(KeyTermsSchema, terms), timeUpdated, timeExpires }
  await apiKeys.updateOne({ _id: { workspace, id } }, { $set }, { session, ...LIMIT })
}

/** Writes the audit entry of a change to a key. */
export function logKey(
  collections: Collections,
  { session, ...change }: KeyChange,
  resourceId: string,
  snapshots: { readonly before?: JsonObject; readonly after?: JsonObject },
): Promise<void> {
  return logChange(collections, session, { ...change, resource: 'api-key', resourceId, ...snapshots })
}

/**
 * Writes an organization with its workspace and its audit entry, in a transaction; also takes positions for `more`
 * further entries.
 */
export async function insertOrganization(
  collections: Collections,
  session: ClientSession,
  organization: Omit<NewOrganization, 'key'> & { readonly plan: Plan },
  by: By,
  more: number,
): Promise<void> {
  const { id, name, plan, workspace } = organization
  const { organizations, workspaces, auditPositions, changeLocks } = collections
  const timeCreated = by.time
  await organizations.insertOne({ _id: id, name, plan, timeCreated }, { session, ...LIMIT })
  await workspaces.insertOne(
    { _id: workspace.id, organizationId: id, name: workspace.name, lastSeq: 0, limitNanos: null, timeCreated },
    { session, ...LIMIT },
  )
  await auditPositions.insertOne({ _id: id, last: 1 + more }, { session, ...LIMIT })
  await changeLocks.insertOne({ _id: id, changes: 0 }, { session, ...LIMIT })
  const [resource, after] = ['organization', organizationSnapshot({ name, plan })] as const
  await logChange(collections, session, { organizationId: id, by, resource, resourceId: id, position: 1, after })
}

import type { Collection, Db } from 'mongodb'
import type { TokenTarget } from '#services/identity/domain/access-token.ts'
import type { AuditEvent } from '#services/identity/domain/audit.ts'
import type { OwnedApiKey } from '#services/identity/ports/identity-store.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import type { EntryKeys, StoredHealth } from '../stored/records.ts'
import { type apiKeys, type deletedKeys, toKey } from '../tables/api-keys.ts'
import {
  type auditPositions,
  type changeLocks,
  type deployment,
  type organizations,
  workspaces,
} from '../tables/organizations.ts'

export type ApiKeyDocument = MongoDocument<typeof apiKeys>
export type DeploymentDocument = MongoDocument<typeof deployment>
export type OrganizationDocument = MongoDocument<typeof organizations>

/** An issuer or a policy. */
export interface RecordDocument {
  readonly _id: string
  readonly organizationId: string
  readonly seq: number
  readonly revision: number
  /** As in its port, without undefined members. */
  readonly settings: unknown
  /** The document of the key that is a policy's target. */
  readonly key?: string
  readonly timeCreated: number
  readonly timeUpdated: number
  /** Of an issuer, since its last change. */
  readonly health?: StoredHealth
}

/** A deleted policy. */
export interface DeletedPolicyDocument {
  readonly _id: string
  readonly organizationId: string
  readonly issuerId: string
  readonly target?: TokenTarget
  /** When it was deleted. */
  readonly time: number
}

export interface AuditDocument extends Pick<EntryKeys, 'kind' | 'policyId' | 'issuerId'> {
  readonly _id: { readonly organization: string; readonly position: number }
  readonly time: number
  readonly event: AuditEvent
}

export interface ReplayClaimDocument {
  /** Hash of organization, issuer and `jti`. */
  readonly _id: string
  readonly until: Date
}

export interface Collections {
  readonly deployment: Collection<DeploymentDocument>
  readonly organizations: Collection<OrganizationDocument>
  readonly workspaces: Collection<MongoDocument<typeof workspaces>>
  readonly apiKeys: Collection<ApiKeyDocument>
  readonly deletedKeys: Collection<MongoDocument<typeof deletedKeys>>
  readonly issuers: Collection<RecordDocument>
  readonly policies: Collection<RecordDocument>
  readonly deletedPolicies: Collection<DeletedPolicyDocument>
  readonly audit: Collection<AuditDocument>
  readonly auditPositions: Collection<MongoDocument<typeof auditPositions>>
  readonly changeLocks: Collection<MongoDocument<typeof changeLocks>>
  readonly replayClaims: Collection<ReplayClaimDocument>
}

/** The collections of the service; their schema is created by the steps in `schema.ts`. */
export function collectionsOf(db: Db): Collections {
  return {
    deployment: db.collection('identity.deployment'),
    organizations: db.collection('identity.organizations'),
    workspaces: db.collection('identity.workspaces'),
    apiKeys: db.collection('identity.api_keys'),
    deletedKeys: db.collection('identity.deleted_keys'),
    issuers: db.collection('identity.issuers'),
    policies: db.collection('identity.policies'),
    deletedPolicies: db.collection('identity.deleted_policies'),
    audit: db.collection('identity.audit'),
    auditPositions: db.collection('identity.audit_positions'),
    changeLocks: db.collection('identity.change_locks'),
    replayClaims: db.collection('identity.replay_claims'),
  }
}

/** The key of an API key's document. Ids of workspaces contain no slash. */
export function keyOf(workspaceId: string, keyId: string): string {
  return `${workspaceId}/${keyId}`
}

export function toOwnedKey(document: ApiKeyDocument | null): OwnedApiKey | undefined {
  if (document === null) return undefined
  const { organizationId, workspaceLimitNanos } = document
  return {
    organizationId,
    workspaceLimitNanos: workspaces.columns.limitNanos.decode(workspaceLimitNanos),
    key: toKey(document),
  }
}

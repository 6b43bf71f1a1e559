import type { Collection, Db } from 'mongodb'
import type { OwnedApiKey } from '#services/identity/ports/identity-store.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import { type apiKeys, type deletedKeys, toKey } from '../tables/api-keys.ts'
import type { audit } from '../tables/audit.ts'
import type { deletedPolicies, issuers, policies } from '../tables/federation.ts'
import {
  type auditPositions,
  type changeLocks,
  type deployment,
  type organizations,
  workspaces,
} from '../tables/organizations.ts'

export type ApiKeyDocument = MongoDocument<typeof apiKeys>
export type AuditDocument = MongoDocument<typeof audit>
export type DeletedPolicyDocument = MongoDocument<typeof deletedPolicies>
export type DeploymentDocument = MongoDocument<typeof deployment>
export type IssuerDocument = MongoDocument<typeof issuers>
export type OrganizationDocument = MongoDocument<typeof organizations>
export type PolicyDocument = MongoDocument<typeof policies>

/** A claimed token, by its hash. */
interface ReplayClaimDocument {
  readonly _id: string
  readonly until: Date
}

export interface Collections {
  readonly deployment: Collection<DeploymentDocument>
  readonly organizations: Collection<OrganizationDocument>
  readonly workspaces: Collection<MongoDocument<typeof workspaces>>
  readonly apiKeys: Collection<ApiKeyDocument>
  readonly deletedKeys: Collection<MongoDocument<typeof deletedKeys>>
  readonly issuers: Collection<IssuerDocument>
  readonly policies: Collection<PolicyDocument>
  readonly deletedPolicies: Collection<DeletedPolicyDocument>
  readonly audit: Collection<AuditDocument>
  readonly auditPositions: Collection<MongoDocument<typeof auditPositions>>
  readonly changeLocks: Collection<MongoDocument<typeof changeLocks>>
  readonly replayClaims: Collection<ReplayClaimDocument>
}

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
  const limitNanos = workspaces.columns.limitNanos.decode(workspaceLimitNanos)
  return { organizationId, workspaceLimitNanos: limitNanos, key: toKey(document) }
}

import { fromJson, type JsonValue } from '@bufbuild/protobuf'
import type { Collection, Db } from 'mongodb'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import type { TokenTarget } from '#services/identity/domain/access-token.ts'
import type { ApiKey } from '#services/identity/domain/api-key.ts'
import type { AuditEvent } from '#services/identity/domain/audit.ts'
import type { Organization, Plan } from '#services/identity/domain/organization.ts'
import type { OwnedApiKey } from '#services/identity/ports/identity-store.ts'
import { type EntryKeys, type StoredHealth, toNanos } from '../stored/records.ts'

/** Names the workspace that the deployment started with; the only document in its collection. */
export interface DeploymentDocument {
  readonly _id: 'bootstrap'
  readonly organizationId: string
  readonly workspaceId: string
}

export interface OrganizationDocument {
  readonly _id: string
  readonly name: string
  readonly plan: Plan
  readonly timeCreated: number
}

export interface WorkspaceDocument {
  readonly _id: string
  readonly organizationId: string
  readonly name: string
  /** Number of the key that was created last. */
  readonly lastSeq: number
  /** Spending limit of all keys together, in digits of nano-dollars, which each of its keys repeats; null: no limit. */
  readonly limitNanos: string | null
  readonly timeCreated: number
}

/**
 * A key. `organizationId` and `workspaceLimitNanos` repeat members of its workspace, so that one read returns
 * everything: the former never changes, and the latter is changed in the workspace and all of its keys in one
 * transaction.
 */
export interface ApiKeyDocument extends Omit<ApiKey, 'id' | 'workspaceId' | 'terms' | 'creatorKeyId' | 'timeExpires'> {
  readonly _id: { readonly workspace: string; readonly id: string }
  readonly organizationId: string
  readonly seq: number
  readonly terms: JsonValue
  readonly creatorKeyId: string | null
  readonly timeExpires: number | null
  readonly workspaceLimitNanos: string | null
}

/** The hash of a deleted key. */
export interface DeletedKeyDocument {
  readonly _id: string
}

/** An issuer or a policy. */
export interface RecordDocument {
  readonly _id: string
  readonly organizationId: string
  readonly seq: number
  readonly revision: number
  /** As in its port, without undefined members. */
  readonly settings: unknown
  /** The key of a policy's target. */
  readonly key?: ApiKeyDocument['_id']
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

/** Counts the entries of an organization. */
export interface AuditPositionDocument {
  /** The organization's id. */
  readonly _id: string
  /** Position of the last entry. */
  readonly last: number
}

/** Written first by every change in an organization, so that the next one conflicts with it until it is committed. */
export interface ChangeLockDocument {
  /** The organization's id. */
  readonly _id: string
  readonly changes: number
}

export interface ReplayClaimDocument {
  /** Hash of organization, issuer and `jti`. */
  readonly _id: string
  readonly until: Date
}

export interface Collections {
  readonly deployment: Collection<DeploymentDocument>
  readonly organizations: Collection<OrganizationDocument>
  readonly workspaces: Collection<WorkspaceDocument>
  readonly apiKeys: Collection<ApiKeyDocument>
  readonly deletedKeys: Collection<DeletedKeyDocument>
  readonly issuers: Collection<RecordDocument>
  readonly policies: Collection<RecordDocument>
  readonly deletedPolicies: Collection<DeletedPolicyDocument>
  readonly audit: Collection<AuditDocument>
  readonly auditPositions: Collection<AuditPositionDocument>
  readonly changeLocks: Collection<ChangeLockDocument>
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

export function toKey(document: ApiKeyDocument): ApiKey {
  const { _id, kind, name, hash, prefix, disabled, terms, creatorKeyId, timeCreated, timeUpdated } = document
  return {
    id: _id.id,
    workspaceId: _id.workspace,
    kind,
    name,
    hash,
    prefix,
    disabled,
    terms: fromJson(KeyTermsSchema, terms),
    creatorKeyId: creatorKeyId ?? undefined,
    timeCreated,
    timeUpdated,
    timeExpires: document.timeExpires ?? undefined,
  }
}

export function toOrganization({ _id, name, plan, timeCreated }: OrganizationDocument): Organization {
  return { id: _id, name, plan, timeCreated }
}

export function toOwnedKey(document: ApiKeyDocument | null): OwnedApiKey | undefined {
  if (document === null) return undefined
  const { organizationId, workspaceLimitNanos } = document
  return { organizationId, workspaceLimitNanos: toNanos(workspaceLimitNanos), key: toKey(document) }
}

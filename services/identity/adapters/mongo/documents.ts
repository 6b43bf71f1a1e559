import type { Collection, Db } from 'mongodb'
import type { ApiKey } from '#services/identity/domain/api-key.ts'

/** Names the workspace that the deployment started with; the only document of its collection. */
export interface DeploymentDocument {
  readonly _id: 'bootstrap'
  readonly organizationId: string
  readonly workspaceId: string
}

export interface OrganizationDocument {
  readonly _id: string
  readonly name: string
  readonly timeCreated: number
}

export interface WorkspaceDocument {
  readonly _id: string
  readonly organizationId: string
  readonly name: string
  /** Number of the last key made. */
  readonly lastSeq: number
  readonly timeCreated: number
}

/** A key; `organizationId` repeats what its workspace says, and never changes. */
export interface ApiKeyDocument extends Omit<ApiKey, 'id' | 'workspaceId' | 'timeExpires'> {
  readonly _id: { readonly workspace: string; readonly id: string }
  readonly organizationId: string
  readonly seq: number
  readonly hash: string
  readonly timeExpires: number | null
}

export interface Collections {
  readonly deployment: Collection<DeploymentDocument>
  readonly organizations: Collection<OrganizationDocument>
  readonly workspaces: Collection<WorkspaceDocument>
  readonly apiKeys: Collection<ApiKeyDocument>
}

/** The collections of the service; their form is made by the steps of `schema.ts`. */
export function collectionsOf(db: Db): Collections {
  return {
    deployment: db.collection('identity.deployment'),
    organizations: db.collection('identity.organizations'),
    workspaces: db.collection('identity.workspaces'),
    apiKeys: db.collection('identity.api_keys'),
  }
}

export function toKey(document: ApiKeyDocument): ApiKey {
  const { _id, kind, name, prefix, disabled, timeCreated, timeExpires } = document
  return {
    id: _id.id,
    workspaceId: _id.workspace,
    kind,
    name,
    prefix,
    disabled,
    timeCreated,
    timeExpires: timeExpires ?? undefined,
  }
}

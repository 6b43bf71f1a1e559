import type { By } from '../domain/audit.ts'
import type { Organization, Plan } from '../domain/organization.ts'
import type { NewApiKey } from './identity-store.ts'

/** What a new organization starts with. */
export interface NewOrganization {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly workspace: { readonly id: string; readonly name: string }
  /** Its first management key. */
  readonly key: NewApiKey
}

/** An organization with the ids of its workspaces, oldest first. */
export interface ListedOrganization extends Organization {
  readonly workspaceIds: readonly string[]
}

/**
 * The organizations and their plans. Every write is atomic and durable, together with its entry in the organization's
 * audit log. Every read returns what was committed when it was called, by any process.
 */
export interface OrganizationStore {
  /** Writes an organization with a workspace and a key. Throws if an id or the hash of the key is in use. */
  createOrganization(organization: NewOrganization, by: By): Promise<Organization>
  getOrganization(organizationId: string): Promise<Organization | undefined>
  /** Oldest first: at most `limit` (1 or more), after the first `offset`; and the number of all. */
  listOrganizations(offset: number, limit: number): Promise<{ items: readonly ListedOrganization[]; total: number }>
  /** Returns the organization with the new plan, even if that is its old one; undefined: there is none. */
  setPlan(organizationId: string, plan: Plan, by: By): Promise<Organization | undefined>
}

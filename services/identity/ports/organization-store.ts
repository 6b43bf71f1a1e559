import type { Organization, Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { By } from '../domain/audit.ts'

/** An organization to be written, and its first workspace. */
export interface NewOrganization {
  readonly organization: Organization
  readonly workspace: { readonly id: string; readonly name: string }
}

/**
 * The organizations and their plans. Every write is atomic and durable, together with its entry in the organization's
 * audit log. Every read returns what was committed when it was called, by any process.
 */
export interface OrganizationStore {
  /** Writes an organization with a workspace and a key of it. Throws if an id or the hash of the key is in use. */
  createOrganization(created: NewOrganization, key: ApiKey, by: By): Promise<Organization>
  getOrganization(organizationId: string): Promise<Organization | undefined>
  /**
   * Oldest first, with the ids of their workspaces: at most `limit` (1 or more), after the first `offset`; and the
   * number of all.
   */
  listOrganizations(offset: number, limit: number): Promise<{ items: Organization[]; total: number }>
  /** Returns the organization with the new plan, even if that is its old one; undefined: there is none. */
  setPlan(organizationId: string, plan: Plan, by: By): Promise<Organization | undefined>
}

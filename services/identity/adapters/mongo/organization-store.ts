import {
  type Organization,
  type Organization_Plan as Plan,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { By } from '#services/identity/domain/audit.ts'
import { changeOf } from '#services/identity/domain/revise.ts'
import type { NewOrganization, OrganizationStore } from '#services/identity/ports/organization-store.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { organizationSnapshot } from '../snapshots.ts'
import { toOrganization } from '../tables/organizations.ts'
import { insertKey, insertOrganization } from './api-keys.ts'
import { logChange } from './audit-entries.ts'
import type { Collections } from './documents.ts'
import type { OrganizationChanges } from './organization-changes.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

export class MongoOrganizationStore implements OrganizationStore {
  readonly #mongo: Mongo
  readonly #changes: OrganizationChanges
  readonly #collections: Collections

  constructor(mongo: Mongo, changes: OrganizationChanges, collections: Collections) {
    this.#mongo = mongo
    this.#changes = changes
    this.#collections = collections
  }

  createOrganization(created: NewOrganization, key: ApiKey, by: By): Promise<Organization> {
    return this.#mongo.transact(async (session) => {
      const { organizationId } = created.organization
      await insertOrganization(this.#collections, session, created, by, 1)
      await insertKey(this.#collections, { session, organizationId, position: 2, by }, key)
      return created.organization
    })
  }

  async getOrganization(organizationId: string): Promise<Organization | undefined> {
    const document = await this.#collections.organizations.findOne({ _id: organizationId }, LIMIT)
    return document === null ? undefined : toOrganization(document)
  }

  async listOrganizations(offset: number, limit: number): Promise<{ items: Organization[]; total: number }> {
    const { organizations, workspaces } = this.#collections
    const [items, total] = await Promise.all([
      organizations.find({}, LIMIT).sort({ createTime: 1, _id: 1 }).skip(offset).limit(limit).toArray(),
      organizations.countDocuments({}, LIMIT),
    ])
    const ids = items.map(({ _id }) => _id)
    const owned = await workspaces
      .find({ organizationId: { $in: ids } }, LIMIT)
      .sort({ createTime: 1, _id: 1 })
      .toArray()
    const workspaceIdsOf = (id: string) =>
      owned.filter(({ organizationId }) => organizationId === id).map(({ _id }) => _id)
    return { items: items.map((item) => ({ ...toOrganization(item), workspaceIds: workspaceIdsOf(item._id) })), total }
  }

  async setPlan(organizationId: string, plan: Plan, by: By): Promise<Organization | undefined> {
    if ((await this.getOrganization(organizationId)) === undefined) return undefined
    return this.#changes.run(organizationId, async ({ session, position }) => {
      const document = await this.#collections.organizations.findOneAndUpdate(
        { _id: organizationId },
        { $set: { plan } },
        { returnDocument: 'before', session, ...LIMIT },
      )
      if (document === null) return undefined
      const was = toOrganization(document)
      const changed = { ...was, plan }
      const change = changeOf(was, changed, organizationSnapshot)
      if (change === undefined) return was
      const of = { organizationId, resource: Resource.ORGANIZATION, resourceId: organizationId }
      await logChange(this.#collections, session, position, { ...of, ...change }, by)
      return changed
    })
  }
}

import type { By } from '#services/identity/domain/audit.ts'
import type { Issuer, IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { Policy, PolicySettings } from '#services/identity/domain/policy.ts'
import type {
  DeletedPolicy,
  ExchangeGround,
  FederationStore,
  ListedIssuer,
  Page,
  Slice,
} from '#services/identity/ports/federation-store.ts'
import type { FetchAttempt, FetchedIssuer, IssuerHealth } from '#services/identity/ports/issuer-health.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { issuerKind, policyKind, toRecord } from '../stored/kinds.ts'
import { healthChanges, toHealth } from '../stored/records.ts'
import type {
  ApiKeyDocument,
  Collections,
  DeletedPolicyDocument,
  OrganizationDocument,
  RecordDocument,
} from './documents.ts'
import type { OrganizationChanges } from './organization-changes.ts'
import { RecordCollection, recordOf } from './record-collection.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

interface GroundDocument extends RecordDocument {
  readonly issuers: readonly RecordDocument[]
  readonly organizations: readonly OrganizationDocument[]
  readonly keys: readonly ApiKeyDocument[]
}

const JOINS = [
  lookup('identity.issuers', 'settings.issuerId', 'issuers'),
  lookup('identity.organizations', 'organizationId', 'organizations'),
  lookup('identity.api_keys', 'key', 'keys'),
]

/** Issuers and policies in MongoDB. */
export class MongoFederationStore implements FederationStore, IssuerHealth {
  readonly #collections: Collections
  readonly #issuers: RecordCollection<IssuerSettings>
  readonly #policies: RecordCollection<PolicySettings>

  constructor(changes: OrganizationChanges, collections: Collections) {
    this.#collections = collections
    this.#issuers = new RecordCollection(changes, collections, issuerKind)
    this.#policies = new RecordCollection(changes, collections, policyKind)
  }

  async findPolicy(policyId: string): Promise<ExchangeGround | DeletedPolicy | undefined> {
    const match = { $match: { _id: policyId } }
    // Both in one query, so that it takes no longer to find out that there is none.
    const stages = [match, ...JOINS, { $unionWith: { coll: 'identity.deleted_policies', pipeline: [match] } }]
    const [found] = await this.#collections.policies
      .aggregate<GroundDocument | DeletedPolicyDocument>(stages, LIMIT)
      .toArray()
    if (found === undefined) return undefined
    if ('time' in found) {
      const { organizationId, issuerId, target } = found
      return { deleted: true, organizationId, issuerId, target }
    }
    const organization = found.organizations[0]
    if (organization === undefined) return undefined
    const { organizationId } = found
    const key = found.keys.find((each) => each.organizationId === organizationId)
    return {
      policy: toRecord(policyKind, { ...found, id: found._id }, found.settings as PolicySettings),
      issuer: recordOf(
        issuerKind,
        found.issuers.find((issuer) => issuer.organizationId === organizationId),
      ),
      organization: { plan: organization.plan },
      key: key && { kind: key.kind, disabled: key.disabled === 1, expireTime: key.expireTime ?? undefined },
    }
  }

  createIssuer(organizationId: string, id: string, decide: (count: number) => IssuerSettings, by: By): Promise<Issuer> {
    return this.#issuers.create({ organizationId, id }, decide, by)
  }

  async getIssuer(organizationId: string, id: string): Promise<ListedIssuer | undefined> {
    const document = await this.#issuers.find({ organizationId, id })
    return document === null ? undefined : toListed(document)
  }

  async listIssuers(organizationId: string, slice: Slice): Promise<Page<ListedIssuer>> {
    const { items, total } = await this.#issuers.list({ organizationId }, slice)
    return { items: items.map(toListed), total }
  }

  reviseIssuer(
    organizationId: string,
    id: string,
    decide: (issuer: Issuer) => IssuerSettings,
    by: By,
  ): Promise<Issuer | undefined> {
    return this.#issuers.revise({ organizationId, id }, decide, by)
  }

  deleteIssuer(organizationId: string, id: string, by: By): Promise<boolean> {
    return this.#issuers.remove({ organizationId, id }, by)
  }

  async presentIssuers(organizationId: string, issuerIds: readonly string[]): Promise<ReadonlySet<string>> {
    const filter = { _id: { $in: [...issuerIds] }, organizationId }
    const found = await this.#collections.issuers.find(filter, { projection: { _id: 1 }, ...LIMIT }).toArray()
    return new Set(found.map(({ _id }) => _id))
  }

  async record({ organizationId, issuerId, revision }: FetchedIssuer, attempt: FetchAttempt): Promise<void> {
    const changes = Object.entries(healthChanges(attempt)).map(([name, value]) => [`health.${name}`, value])
    await this.#collections.issuers.updateOne(
      { _id: issuerId, organizationId, revision },
      { $set: Object.fromEntries(changes) },
      LIMIT,
    )
  }

  createPolicy(organizationId: string, id: string, decide: (count: number) => PolicySettings, by: By): Promise<Policy> {
    return this.#policies.create({ organizationId, id }, decide, by)
  }

  async getPolicy(organizationId: string, id: string): Promise<Policy | undefined> {
    return recordOf(policyKind, await this.#policies.find({ organizationId, id }))
  }

  async listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>> {
    const filter = { organizationId, ...(issuerId !== undefined && { 'settings.issuerId': issuerId }) }
    const { items, total } = await this.#policies.list(filter, slice)
    return { items: items.flatMap((document) => recordOf(policyKind, document) ?? []), total }
  }

  revisePolicy(
    organizationId: string,
    id: string,
    decide: (policy: Policy) => PolicySettings,
    by: By,
  ): Promise<Policy | undefined> {
    return this.#policies.revise({ organizationId, id }, decide, by)
  }

  deletePolicy(organizationId: string, id: string, by: By): Promise<boolean> {
    return this.#policies.remove({ organizationId, id }, by, ({ issuerId, target }, session) => {
      const deleted = { organizationId, issuerId, target, time: by.time }
      return this.#collections.deletedPolicies.replaceOne({ _id: id }, deleted, { upsert: true, session, ...LIMIT })
    })
  }
}

function lookup(from: string, localField: string, as: string) {
  return { $lookup: { from, localField, foreignField: '_id', as } }
}

function toListed(document: RecordDocument): ListedIssuer {
  const { health } = document
  const issuer = toRecord(issuerKind, { ...document, id: document._id }, document.settings as IssuerSettings)
  return { issuer, health: health && toHealth(health) }
}

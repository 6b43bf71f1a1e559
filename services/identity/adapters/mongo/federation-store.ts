import type { IssuerSettings, PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { By } from '#services/identity/domain/audit.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type {
  DeletedPolicy,
  ExchangeGround,
  FederationStore,
  Page,
  Slice,
} from '#services/identity/ports/federation-store.ts'
import type { FetchAttempt, FetchedIssuer, IssuerHealth } from '#services/identity/ports/issuer-health.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { deletedPolicyRow, healthChanges, issuerKind, policyKind } from '../tables/federation.ts'
import type {
  ApiKeyDocument,
  Collections,
  DeletedPolicyDocument,
  IssuerDocument,
  OrganizationDocument,
  PolicyDocument,
} from './documents.ts'
import type { OrganizationChanges } from './organization-changes.ts'
import { RecordCollection } from './record-collection.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

interface GroundDocument extends PolicyDocument {
  readonly issuers: readonly IssuerDocument[]
  readonly organizations: readonly OrganizationDocument[]
  readonly keys: readonly ApiKeyDocument[]
}

const JOINS = [
  lookup('identity.issuers', 'issuerId', '_id', 'issuers'),
  lookup('identity.organizations', 'organizationId', '_id', 'organizations'),
  lookup('identity.api_keys', 'keyId', 'keyId', 'keys'),
]

/** Issuers and policies in MongoDB. */
export class MongoFederationStore implements FederationStore, IssuerHealth {
  readonly #collections: Collections
  readonly #issuers: RecordCollection<Issuer>
  readonly #policies: RecordCollection<Policy>

  constructor(changes: OrganizationChanges, collections: Collections) {
    this.#collections = collections
    this.#issuers = new RecordCollection(changes, collections, issuerKind)
    this.#policies = new RecordCollection(changes, collections, policyKind)
  }

  async findPolicy(policyId: string): Promise<ExchangeGround | DeletedPolicy | undefined> {
    const match = { $match: { _id: policyId } }
    // Both in one query, so that it takes no longer to find out that there is none.
    const stages = [match, ...JOINS, { $unionWith: { coll: 'identity.deleted_policies', pipeline: [match] } }]
    const [document] = await this.#collections.policies
      .aggregate<GroundDocument | DeletedPolicyDocument>(stages, LIMIT)
      .toArray()
    if (document === undefined) return undefined
    const { organizationId, issuerId, keyId } = document
    if ('time' in document) return { deleted: true, organizationId, issuerId, keyId }
    const { issuers, organizations, keys, ...policy } = document
    const [organization] = organizations
    if (organization === undefined) return undefined
    const issuer = issuers.find((each) => each.organizationId === organizationId)
    const key = keys.find((each) => {
      return each.organizationId === organizationId && each.workspaceId === policy.workspaceId
    })
    return {
      policy: policyKind.fromRow(policy),
      issuer: issuer && issuerKind.fromRow(issuer),
      organization: { plan: organization.plan },
      key: key && { kind: key.kind, disabled: key.disabled === 1, expireTime: key.expireTime ?? undefined },
    }
  }

  createIssuer(organizationId: string, id: string, decide: (count: number) => IssuerSettings, by: By): Promise<Issuer> {
    return this.#issuers.create({ organizationId, id }, decide, by)
  }

  getIssuer(organizationId: string, id: string): Promise<Issuer | undefined> {
    return this.#issuers.get({ organizationId, id })
  }

  listIssuers(organizationId: string, slice: Slice): Promise<Page<Issuer>> {
    return this.#issuers.list({ organizationId }, slice)
  }

  reviseIssuer(
    organizationId: string,
    id: string,
    decide: (settings: IssuerSettings) => IssuerSettings,
    by: By,
  ): Promise<Issuer | undefined> {
    return this.#issuers.revise({ organizationId, id }, decide, by)
  }

  deleteIssuer(organizationId: string, id: string, by: By): Promise<boolean> {
    return this.#issuers.remove({ organizationId, id }, by)
  }

  async presentIssuers(organizationId: string, issuerIds: readonly string[]): Promise<ReadonlySet<string>> {
    const filter = { _id: { $in: [...issuerIds] }, organizationId }
    const documents = await this.#collections.issuers.find(filter, { projection: { _id: 1 }, ...LIMIT }).toArray()
    return new Set(documents.map(({ _id }) => _id))
  }

  async record({ organizationId, issuerId, revision }: FetchedIssuer, attempt: FetchAttempt): Promise<void> {
    const filter = { _id: issuerId, organizationId, revision }
    await this.#collections.issuers.updateOne(filter, { $set: healthChanges(attempt) }, LIMIT)
  }

  createPolicy(organizationId: string, id: string, decide: (count: number) => PolicySettings, by: By): Promise<Policy> {
    return this.#policies.create({ organizationId, id }, decide, by)
  }

  getPolicy(organizationId: string, id: string): Promise<Policy | undefined> {
    return this.#policies.get({ organizationId, id })
  }

  listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>> {
    return this.#policies.list({ organizationId, ...(issuerId !== undefined && { issuerId }) }, slice)
  }

  revisePolicy(
    organizationId: string,
    id: string,
    decide: (settings: PolicySettings) => PolicySettings,
    by: By,
  ): Promise<Policy | undefined> {
    return this.#policies.revise({ organizationId, id }, decide, by)
  }

  deletePolicy(organizationId: string, id: string, by: By): Promise<boolean> {
    return this.#policies.remove({ organizationId, id }, by, (policy, session) => {
      const deleted = deletedPolicyRow(policy, by)
      return this.#collections.deletedPolicies.replaceOne({ _id: id }, deleted, { upsert: true, session, ...LIMIT })
    })
  }
}

function lookup(from: string, localField: string, foreignField: string, as: string) {
  return { $lookup: { from, localField, foreignField, as } }
}

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
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectOne, updateRows } from '#shared/stores/sqlite-table.ts'
import {
  deletedPolicies,
  deletedPolicyRow,
  healthChanges,
  issuerKind,
  issuers,
  policyKind,
} from '../tables/federation.ts'
import { ExchangeGrounds } from './exchange-grounds.ts'
import { RecordTable } from './record-table.ts'

const OWN_ISSUER = 'WHERE organizationId = ? AND issuerId = ?'
const insertDeleted = insertInto(deletedPolicies, { or: 'REPLACE' })

/** Issuers and policies in SQLite. */
export class SqliteFederationStore implements FederationStore, IssuerHealth {
  readonly #file: SqliteFile
  readonly #issuers: RecordTable<Issuer>
  readonly #policies: RecordTable<Policy>
  readonly #grounds: ExchangeGrounds

  constructor(file: SqliteFile) {
    this.#file = file
    this.#issuers = new RecordTable(file, issuerKind)
    this.#policies = new RecordTable(file, policyKind)
    this.#grounds = new ExchangeGrounds(file)
  }

  async findPolicy(policyId: string): Promise<ExchangeGround | DeletedPolicy | undefined> {
    return this.#grounds.find(policyId) ?? this.#deletedPolicy(policyId)
  }

  createIssuer(organizationId: string, id: string, decide: (count: number) => IssuerSettings, by: By): Promise<Issuer> {
    return this.#issuers.create({ organizationId, id }, decide, by)
  }

  async getIssuer(organizationId: string, id: string): Promise<Issuer | undefined> {
    return this.#issuers.get({ organizationId, id })
  }

  async listIssuers(organizationId: string, slice: Slice): Promise<Page<Issuer>> {
    return this.#issuers.list('organizationId = ?', [organizationId], slice)
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
    return new Set([...new Set(issuerIds)].filter((id) => this.#issuers.has({ organizationId, id })))
  }

  async record({ organizationId, issuerId, revision }: FetchedIssuer, attempt: FetchAttempt): Promise<void> {
    const where = `${OWN_ISSUER} AND revision = ?`
    const changes = healthChanges(attempt)
    await this.#file.write(() => updateRows(this.#file, issuers, changes, where, organizationId, issuerId, revision))
  }

  createPolicy(organizationId: string, id: string, decide: (count: number) => PolicySettings, by: By): Promise<Policy> {
    return this.#policies.create({ organizationId, id }, decide, by)
  }

  async getPolicy(organizationId: string, id: string): Promise<Policy | undefined> {
    return this.#policies.get({ organizationId, id })
  }

  async listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>> {
    return issuerId === undefined
      ? this.#policies.list('organizationId = ?', [organizationId], slice)
      : this.#policies.list('organizationId = ? AND issuerId = ?', [organizationId, issuerId], slice)
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
    return this.#policies.remove({ organizationId, id }, by, (policy) => {
      insertDeleted(this.#file, [deletedPolicyRow(policy, by)])
    })
  }

  #deletedPolicy(policyId: string): DeletedPolicy | undefined {
    const row = selectOne(this.#file, deletedPolicies.columns, 'FROM deleted_policies WHERE policyId = ?', policyId)
    if (row === undefined) return undefined
    const { organizationId, issuerId, keyId } = row
    return { deleted: true, organizationId, issuerId, keyId }
  }
}

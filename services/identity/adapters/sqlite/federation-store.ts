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
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { issuerKind, policyKind } from '../stored/kinds.ts'
import { healthChanges, type StoredHealth, toHealth } from '../stored/records.ts'
import { ExchangeGrounds } from './exchange-grounds.ts'
import { RecordTable } from './record-table.ts'

const HEALTH = `SELECT health FROM issuer_health WHERE issuer_id = ? AND revision = ?`
const DELETED = 'SELECT organization_id, issuer_id, target FROM deleted_policies WHERE id = ?'
const INSERT_DELETED = `INSERT OR REPLACE INTO deleted_policies (id, organization_id, issuer_id, target, time)
  VALUES (?, ?, ?, ?, ?)`
// A JSON patch removes members that are null in it.
const RECORD = `INSERT INTO issuer_health (issuer_id, revision, health)
  SELECT id, revision, ?4 FROM issuers WHERE organization_id = ?1 AND id = ?2 AND revision = ?3
  ON CONFLICT DO UPDATE SET revision = excluded.revision, health =
    CASE WHEN revision = excluded.revision THEN json_patch(health, excluded.health) ELSE excluded.health END`

interface DeletedRow {
  readonly organization_id: string
  readonly issuer_id: string
  readonly target: string | null
}

/** Issuers and policies in SQLite. */
export class SqliteFederationStore implements FederationStore, IssuerHealth {
  readonly #file: SqliteFile
  readonly #issuers: RecordTable<IssuerSettings>
  readonly #policies: RecordTable<PolicySettings>
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

  async getIssuer(organizationId: string, id: string): Promise<ListedIssuer | undefined> {
    const issuer = this.#issuers.get({ organizationId, id })
    return issuer && this.#withHealth(issuer)
  }

  async listIssuers(organizationId: string, slice: Slice): Promise<Page<ListedIssuer>> {
    const { items, total } = this.#issuers.list('organization_id = ?', [organizationId], slice)
    return { items: items.map((issuer) => this.#withHealth(issuer)), total }
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
    return new Set([...new Set(issuerIds)].filter((id) => this.#issuers.has({ organizationId, id })))
  }

  async record({ organizationId, issuerId, revision }: FetchedIssuer, attempt: FetchAttempt): Promise<void> {
    const health = JSON.stringify(healthChanges(attempt))
    await this.#file.write(() => this.#file.statement(RECORD).run(organizationId, issuerId, revision, health))
  }

  createPolicy(organizationId: string, id: string, decide: (count: number) => PolicySettings, by: By): Promise<Policy> {
    return this.#policies.create({ organizationId, id }, decide, by)
  }

  async getPolicy(organizationId: string, id: string): Promise<Policy | undefined> {
    return this.#policies.get({ organizationId, id })
  }

  async listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>> {
    return issuerId === undefined
      ? this.#policies.list('organization_id = ?', [organizationId], slice)
      : this.#policies.list('organization_id = ? AND issuer_id = ?', [organizationId, issuerId], slice)
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
    return this.#policies.remove({ organizationId, id }, by, ({ issuerId, target }) => {
      this.#file.statement(INSERT_DELETED).run(id, organizationId, issuerId, JSON.stringify(target), by.time)
    })
  }

  #deletedPolicy(policyId: string): DeletedPolicy | undefined {
    const row = this.#file.statement(DELETED).get(policyId) as DeletedRow | undefined
    if (row === undefined) return undefined
    const { organization_id: organizationId, issuer_id: issuerId, target } = row
    return { deleted: true, organizationId, issuerId, target: target === null ? undefined : JSON.parse(target) }
  }

  #withHealth(issuer: Issuer): ListedIssuer {
    const row = this.#file.statement(HEALTH).get(issuer.id, issuer.revision)
    return { issuer, health: row && toHealth(JSON.parse(row.health as string) as StoredHealth) }
  }
}

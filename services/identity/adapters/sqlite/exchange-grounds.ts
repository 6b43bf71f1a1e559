import { LRUCache } from 'lru-cache'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectOne } from '#shared/stores/sqlite-table.ts'
import { fromRow, integer, optional, type RecordOf } from '#shared/stores/table.ts'
import { apiKeys } from '../tables/api-keys.ts'
import { issuerKind, issuers, policies, policyKind } from '../tables/federation.ts'
import { organizations } from '../tables/organizations.ts'

/** Identifies a policy and its issuer by numbers that only one record of an organization ever has, and revisions. */
const versions = {
  policySeq: integer(),
  policyRevision: integer(),
  issuerSeq: optional(integer()),
  issuerRevision: optional(integer()),
}
const stateColumns = {
  plan: organizations.columns.plan,
  kind: optional(apiKeys.columns.kind),
  disabled: optional(apiKeys.columns.disabled),
  expireTime: apiKeys.columns.expireTime,
  ...versions,
}
type State = RecordOf<typeof stateColumns>

// One statement, so that its result is of one moment.
const STATE = `FROM (SELECT o.plan, k.kind, k.disabled, k.expireTime,
  p.seq AS policySeq, p.revision AS policyRevision, i.seq AS issuerSeq, i.revision AS issuerRevision
  FROM policies p JOIN organizations o ON o.organizationId = p.organizationId
  LEFT JOIN issuers i ON i.issuerId = p.issuerId AND i.organizationId = p.organizationId
  LEFT JOIN workspaces w ON w.workspaceId = p.workspaceId AND w.organizationId = p.organizationId
  LEFT JOIN api_keys k ON k.workspaceId = w.workspaceId AND k.keyId = p.keyId
  WHERE p.policyId = ?)`
const POLICY = 'FROM policies WHERE policyId = ?'
const ISSUER = 'FROM issuers WHERE issuerId = ? AND organizationId = ?'

interface CacheEntry extends RecordOf<typeof versions> {
  readonly policy: Policy
  readonly issuer: Issuer | undefined
}

/** How many characters of parsed settings are cached. */
const MOST_CHARACTERS = 4_000_000

/** Reads what exchanges need, anew for each of them. Settings are read and parsed once for each revision. */
export class ExchangeGrounds {
  readonly #file: SqliteFile
  readonly #cache = new LRUCache<string, CacheEntry>({ maxSize: MOST_CHARACTERS })

  constructor(file: SqliteFile) {
    this.#file = file
  }

  find(policyId: string): ExchangeGround | undefined {
    let kept = this.#cache.get(policyId)
    for (;;) {
      const row = selectOne(this.#file, stateColumns, STATE, policyId)
      if (row === undefined) return undefined
      const state = fromRow(stateColumns, row)
      if (kept !== undefined && isOf(state, kept)) return groundOf(state, kept)
      // Another process may change the records before they are read.
      kept = this.#read(policyId)
    }
  }

  #read(policyId: string): CacheEntry | undefined {
    const row = selectOne(this.#file, policies.columns, POLICY, policyId)
    if (row === undefined) return undefined
    const issuerRow = selectOne(this.#file, issuers.columns, ISSUER, row.issuerId, row.organizationId)
    const kept: CacheEntry = {
      policySeq: row.seq,
      policyRevision: row.revision,
      issuerSeq: issuerRow?.seq,
      issuerRevision: issuerRow?.revision,
      policy: policyKind.fromRow(row),
      issuer: issuerRow && issuerKind.fromRow(issuerRow),
    }
    this.#cache.set(policyId, kept, { size: row.settings.length + (issuerRow?.settings.length ?? 0) })
    return kept
  }
}

function isOf(state: State, entry: CacheEntry): boolean {
  return (
    state.policySeq === entry.policySeq &&
    state.policyRevision === entry.policyRevision &&
    state.issuerSeq === entry.issuerSeq &&
    state.issuerRevision === entry.issuerRevision
  )
}

function groundOf({ plan, kind, disabled = true, expireTime }: State, { policy, issuer }: CacheEntry): ExchangeGround {
  const key = kind === undefined ? undefined : { kind, disabled, expireTime }
  return { policy, issuer, organization: { plan }, key }
}

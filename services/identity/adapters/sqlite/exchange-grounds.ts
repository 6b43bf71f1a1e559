import { LRUCache } from 'lru-cache'
import type { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import type { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { RecordHead } from '#services/identity/domain/revise.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { issuerKind, policyKind, type RecordKind, toRecord } from '../stored/kinds.ts'

const JOINS = `FROM policies p JOIN organizations o ON o.organizationId = p.organization_id
  LEFT JOIN issuers i ON i.id = p.issuer_id AND i.organization_id = p.organization_id
  LEFT JOIN workspaces w ON w.workspaceId = p.workspace_id AND w.organizationId = p.organization_id
  LEFT JOIN api_keys k ON k.workspaceId = w.workspaceId AND k.keyId = p.key_id
  WHERE p.id = ?`
const STATE = 'o.plan, k.kind, k.disabled, k.expireTime, p.seq, p.revision, i.seq, i.revision'
const RECORD = ['id', 'organization_id', 'revision', 'time_created', 'time_updated', 'settings']
const columnsOf = (table: string): string => RECORD.map((column) => `${table}.${column}`).join(', ')

// Each is one statement, so that its result is of one moment. Rows are arrays, since creating an object with that many
// names costs as much as the query.
const STATES = `SELECT ${STATE} ${JOINS}`
const GROUND = `SELECT ${STATE}, ${columnsOf('p')}, ${columnsOf('i')} ${JOINS}`

type State = readonly [
  plan: Plan,
  kind: Kind | null,
  disabled: number,
  expireTime: number | null,
  ...versions: readonly (number | null)[],
]
type Columns = readonly [string, string, number, number, number, settings: string]

/** A policy and its issuer, at one version. */
interface Kept {
  /**
   * Identifies the two records and their revisions; before each stands a number that only one record of an organization
   * ever has.
   */
  readonly versions: readonly (number | null)[]
  readonly policy: Policy
  readonly issuer: Issuer | undefined
}

/** How many characters of parsed settings are cached. */
const MOST_CHARACTERS = 4_000_000

/** Reads what exchanges need, anew for each of them. Settings are read and parsed once for each revision. */
export class ExchangeGrounds {
  readonly #file: SqliteFile
  readonly #kept = new LRUCache<string, Kept>({ maxSize: MOST_CHARACTERS })

  constructor(file: SqliteFile) {
    this.#file = file
  }

  find(policyId: string): ExchangeGround | undefined {
    const kept = this.#kept.get(policyId)
    if (kept === undefined) return this.#read(policyId)
    const state = this.#file.rows(STATES).get(policyId) as unknown as State | undefined
    if (state === undefined) return undefined
    return isOf(state, kept) ? groundOf(state, kept) : this.#read(policyId)
  }

  #read(policyId: string): ExchangeGround | undefined {
    const row = this.#file.rows(GROUND).get(policyId) as unknown as readonly unknown[] | undefined
    if (row === undefined) return undefined
    const state = row.slice(0, -2 * RECORD.length) as unknown as State
    const policy = row.slice(-2 * RECORD.length, -RECORD.length) as unknown as Columns
    const issuer = row.slice(-RECORD.length) as unknown as Columns | null[]
    const [, , , , ...versions] = state
    const kept = {
      versions,
      policy: recordOf(policyKind, policy),
      issuer: isThere(issuer) ? recordOf(issuerKind, issuer) : undefined,
    }
    const size = policy[5].length + (isThere(issuer) ? issuer[5].length : 0)
    this.#kept.set(policyId, kept, { size })
    return groundOf(state, kept)
  }
}

function isOf(state: State, { versions }: Kept): boolean {
  return versions.every((version, at) => version === state[at + 4])
}

function groundOf([plan, kind, disabled, expireTime]: State, { policy, issuer }: Kept): ExchangeGround {
  return {
    policy,
    issuer,
    organization: { plan },
    key: kind === null ? undefined : { kind, disabled: disabled === 1, expireTime: expireTime ?? undefined },
  }
}

function isThere(columns: Columns | null[]): columns is Columns {
  return columns[0] !== null
}

function recordOf<S>(kind: RecordKind<S>, columns: Columns): RecordHead & S {
  const [id, organizationId, revision, timeCreated, timeUpdated, settings] = columns
  const head = { id, organizationId, revision, timeCreated, timeUpdated }
  return toRecord(kind, head, JSON.parse(settings) as S)
}

import type { ApiKeyKind } from '#services/identity/domain/api-key.ts'
import type { Plan } from '#services/identity/domain/organization.ts'
import type { RecordHead } from '#services/identity/domain/revise.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import { issuerKind, policyKind, type RecordKind, toRecord } from '../stored/kinds.ts'

const RECORD = ['id', 'organization_id', 'revision', 'time_created', 'time_updated', 'settings']
const columnsOf = (table: string): string => RECORD.map((column) => `${table}.${column}`).join(', ')

/** All that an exchange needs, by the policy's id: one statement, so that it is of one moment. */
export const GROUND = `SELECT o.plan, k.kind, k.disabled, k.time_expires, ${columnsOf('p')}, ${columnsOf('i')}
  FROM policies p JOIN organizations o ON o.id = p.organization_id
  LEFT JOIN issuers i ON i.id = p.issuer_id AND i.organization_id = p.organization_id
  LEFT JOIN workspaces w ON w.id = p.workspace_id AND w.organization_id = p.organization_id
  LEFT JOIN api_keys k ON k.workspace_id = w.id AND k.id = p.key_id
  WHERE p.id = ?`

type Ground = readonly [plan: Plan, kind: ApiKeyKind | null, disabled: number, timeExpires: number | null]
type Columns = readonly [string, string, number, number, number, settings: string]

/** What the statement finds, as an array: to make an object with so many names costs as much as to find it. */
export function toGround(row: readonly unknown[]): ExchangeGround {
  const [plan, kind, disabled, timeExpires] = row as Ground
  const [policy, issuer] = [row.slice(4, 4 + RECORD.length), row.slice(4 + RECORD.length)]
  return {
    policy: recordOf(policyKind, policy as unknown as Columns),
    issuer: issuer[0] === null ? undefined : recordOf(issuerKind, issuer as unknown as Columns),
    organization: { plan },
    key: kind === null ? undefined : { kind, disabled: disabled === 1, timeExpires: timeExpires ?? undefined },
  }
}

function recordOf<S>(kind: RecordKind<S>, columns: Columns): RecordHead & S {
  const [id, organizationId, revision, timeCreated, timeUpdated, settings] = columns
  const head = { id, organizationId, revision, timeCreated, timeUpdated }
  return toRecord(kind, head, JSON.parse(settings) as S)
}

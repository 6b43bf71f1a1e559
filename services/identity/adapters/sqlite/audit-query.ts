import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { AuditFilter } from '#services/identity/ports/audit-log.ts'

/**
 * If a window of time has more entries than this, they are not searched for its bounds, since most pages fill up
 * before.
 */
const FEW = 20_000
const IN_WINDOW = `(SELECT position FROM audit INDEXED BY auditByTime
  WHERE organizationId = ? AND time >= ? AND time < ? LIMIT ${FEW + 1})`
// Without bounds for the position, a search by time would read the whole log. Times need not rise with positions.
const WINDOW = `time >= ? AND time < ?
  AND position >= (SELECT iif(count(*) > ${FEW}, 0, min(position)) FROM ${IN_WINDOW})
  AND position <= (SELECT iif(count(*) > ${FEW}, ${Number.MAX_SAFE_INTEGER}, max(position)) FROM ${IN_WINDOW})`

type Term = readonly [sql: string, ...values: readonly (string | number | undefined)[]]

/** Finds entries of an organization that match a filter, newest first, before a position; `rest` follows columns. */
export function auditQuery(
  organization: string,
  filter: AuditFilter,
  before: number | undefined,
  limit: number,
): { readonly rest: string; readonly values: readonly (string | number)[] } {
  const { kind, policyId, issuerId, keyId, reason, subject, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
  const window = [since, until, organization, since, until, organization, since, until]
  const isTimed = filter.since !== undefined || filter.until !== undefined
  const terms: readonly Term[] = [
    ['organizationId = ?', organization],
    ['position < ?', before],
    ['kind = ?', kind],
    // SQLite uses the partial index of the rarer kinds only if the query repeats its condition.
    [`kind <> ${Kind.EXCHANGE_ACCEPTED} AND ?`, kind === undefined || kind === Kind.EXCHANGE_ACCEPTED ? undefined : 1],
    ['policyId = ?', policyId],
    ['issuerId = ?', issuerId],
    ['keyId = ?', keyId],
    ['reason = ?', reason],
    ['subject = ?', subject],
    [WINDOW, ...(isTimed ? window : [undefined])],
  ]
  const wanted = terms.filter(([, ...values]) => !values.includes(undefined))
  const where = wanted.map(([term]) => term).join(' AND ')
  const values = wanted.flatMap(([, ...each]) => each) as (string | number)[]
  return { rest: `FROM audit WHERE ${where} ORDER BY position DESC LIMIT ?`, values: [...values, limit] }
}

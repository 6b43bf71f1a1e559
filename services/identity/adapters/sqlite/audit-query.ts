import type { AuditFilter } from '#services/identity/ports/audit-log.ts'

/**
 * If a window of time has more entries than this, they are not searched for its bounds, since most pages fill up
 * before.
 */
const FEW = 20_000
const IN_WINDOW = `(SELECT position FROM audit_entries INDEXED BY audit_entries_time
  WHERE organization_id = ? AND time >= ? AND time < ? LIMIT ${FEW + 1})`
// Without bounds for the position, a search by time would read the whole log. Times need not rise with positions.
const WINDOW = `time >= ? AND time < ?
  AND position >= (SELECT iif(count(*) > ${FEW}, 0, min(position)) FROM ${IN_WINDOW})
  AND position <= (SELECT iif(count(*) > ${FEW}, ${Number.MAX_SAFE_INTEGER}, max(position)) FROM ${IN_WINDOW})`

type Term = readonly [sql: string, ...values: readonly (string | number | undefined)[]]

/** Finds entries of an organization that match a filter, newest first, before a position. */
export function auditQuery(
  organization: string,
  filter: AuditFilter,
  before: number | undefined,
  limit: number,
): { readonly sql: string; readonly values: readonly (string | number)[] } {
  const { kind, policyId, issuerId, keyId, reason, subject, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
  const window = [since, until, organization, since, until, organization, since, until]
  const isTimed = filter.since !== undefined || filter.until !== undefined
  const terms: readonly Term[] = [
    ['organization_id = ?', organization],
    ['position < ?', before],
    ['kind = ?', kind],
    // SQLite uses the partial index of the rarer kinds only if the query repeats its condition.
    [`kind <> 'exchange-accepted' AND ?`, kind === undefined || kind === 'exchange-accepted' ? undefined : 1],
    ['policy_id = ?', policyId],
    ['issuer_id = ?', issuerId],
    ['key_id = ?', keyId],
    ['reason = ?', reason],
    ['subject = ?', subject],
    [WINDOW, ...(isTimed ? window : [undefined])],
  ]
  const wanted = terms.filter(([, ...values]) => !values.includes(undefined))
  const where = wanted.map(([term]) => term).join(' AND ')
  const values = wanted.flatMap(([, ...each]) => each) as (string | number)[]
  const sql = `SELECT position, time, event FROM audit_entries WHERE ${where} ORDER BY position DESC LIMIT ?`
  return { sql, values: [...values, limit] }
}

import type { AuditEntry } from '#services/identity/domain/audit.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { keysOf } from '../stored/records.ts'

const RAISE =
  'UPDATE organizations SET lastPosition = lastPosition + ?2 WHERE organizationId = ?1 RETURNING lastPosition AS position'
const INSERT = `INSERT INTO audit_entries
  (organization_id, position, time, kind, policy_id, issuer_id, key_id, reason, subject, event)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Writes an entry, in a job of the file. Returns its position; throws if there is no such organization. */
export function writeEntry(file: SqliteFile, entry: AuditEntry): number {
  const position = writeEntries(file, entry.organizationId, [entry])
  if (position === undefined) throw missingOrganization(entry)
  return position
}

/** Writes entries, and returns the position of the last one; undefined if there is no such organization. */
export function writeEntries(
  file: SqliteFile,
  organizationId: string,
  entries: readonly AuditEntry[],
): number | undefined {
  const counter = file.statement(RAISE).get(organizationId, entries.length) as { position: number } | undefined
  if (counter === undefined) return undefined
  let position = counter.position - entries.length
  for (const { time, event } of entries) {
    const { kind, policyId = null, issuerId = null, keyId = null, reason = null, subject = null } = keysOf(event)
    const keys = [kind, policyId, issuerId, keyId, reason, subject]
    position++
    file.statement(INSERT).run(organizationId, position, time, ...keys, JSON.stringify(event))
  }
  return position
}

export function missingOrganization({ organizationId }: AuditEntry): Error {
  return new Error(`There is no organization ${organizationId}`)
}

import type { AuditEntry } from '#services/identity/domain/audit.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { keysOf } from '../stored/records.ts'

const RAISE =
  'UPDATE organizations SET last_position = last_position + ?2 WHERE id = ?1 RETURNING last_position AS position'
const INSERT = `INSERT INTO audit_entries
  (organization_id, position, time, kind, policy_id, issuer_id, key_id, reason, subject, event)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** The columns of an entry, from `time` on. */
type EntryValues = readonly (string | number | null)[]

/** An entry as it is sent to the thread that writes it. */
export interface EntryRow {
  readonly organizationId: string
  readonly values: EntryValues
}

export function entryRowOf({ organizationId, time, event }: AuditEntry): EntryRow {
  const { kind, policyId = null, issuerId = null, keyId = null, reason = null, subject = null } = keysOf(event)
  const values = [time, kind, policyId, issuerId, keyId, reason, subject, JSON.stringify(event)]
  return { organizationId, values }
}

/** Writes an entry, in a job of the file. Returns its position; throws if there is no such organization. */
export function writeEntry(file: SqliteFile, entry: AuditEntry): number {
  const { organizationId, values } = entryRowOf(entry)
  const position = writeEntries(file, organizationId, [values])
  if (position === undefined) throw missingOrganization(organizationId)
  return position
}

/** Writes entries of an organization, in a job of the file. Returns the position of the last one; undefined if there is no such organization. */
export function writeEntries(
  file: SqliteFile,
  organizationId: string,
  entries: readonly EntryValues[],
): number | undefined {
  const counter = file.statement(RAISE).get(organizationId, entries.length) as { position: number } | undefined
  if (counter === undefined) return undefined
  let position = counter.position - entries.length
  for (const values of entries) file.statement(INSERT).run(organizationId, ++position, ...values)
  return position
}

export function missingOrganization(organizationId: string): Error {
  return new Error(`There is no organization ${organizationId}`)
}

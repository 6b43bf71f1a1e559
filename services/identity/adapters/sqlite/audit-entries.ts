import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto } from '#shared/stores/sqlite-table.ts'
import { audit, entryRow } from '../tables/audit.ts'

const RAISE =
  'UPDATE organizations SET lastPosition = lastPosition + ?2 WHERE organizationId = ?1 RETURNING lastPosition AS position'
const insert = insertInto(audit)

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
  const first = counter.position - entries.length + 1
  const rows = entries.map((entry, index) => entryRow(entry, first + index))
  insert(file, rows)
  return counter.position
}

export function missingOrganization({ organizationId }: AuditEntry): Error {
  return new Error(`There is no organization ${organizationId}`)
}

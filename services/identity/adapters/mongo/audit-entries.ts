import type { ClientSession } from 'mongodb'
import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import { type By, type Changed, changeEntry } from '#services/identity/domain/audit.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { entryRow } from '../tables/audit.ts'
import type { AuditDocument, Collections } from './documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Takes positions for entries of an organization. Throws if there is no such organization. */
export async function takePositions(
  { auditPositions }: Collections,
  organizationId: string,
  count: number,
): Promise<number> {
  const document = await auditPositions.findOneAndUpdate(
    { _id: organizationId },
    { $inc: { last: count } },
    { returnDocument: 'after', ...LIMIT },
  )
  if (document === null) throw new Error(`There is no organization ${organizationId}`)
  return document.last - count + 1
}

export function documentOf(entry: AuditEntry, position: number): AuditDocument {
  return { _id: `${entry.organizationId}/${position}`, ...entryRow(entry, position) }
}

/** Writes the entry of a change at a position that the same transaction has taken. */
export async function logChange(
  collections: Collections,
  session: ClientSession,
  position: number,
  changed: Changed,
  by: By,
): Promise<void> {
  await collections.audit.insertOne(documentOf(changeEntry(changed, by), position), { session, ...LIMIT })
}

import type { ClientSession } from 'mongodb'
import type { AuditEntry, By, Changed } from '#services/identity/domain/audit.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { keysOf } from '../stored/records.ts'
import { changeEntry } from '../stored/snapshots.ts'
import type { AuditDocument, Collections } from './documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Something in an organization that a transaction may change, and who changes it. */
export interface ChangeOf extends Pick<Changed, 'resource' | 'resourceId'> {
  readonly organizationId: string
  readonly by: By
}

/** Takes positions for entries of an organization. Throws if there is no such organization. */
export async function takePositions(
  { auditPositions }: Collections,
  organizationId: string,
  count: number,
): Promise<number> {
  const found = await auditPositions.findOneAndUpdate(
    { _id: organizationId },
    { $inc: { last: count } },
    { returnDocument: 'after', ...LIMIT },
  )
  if (found === null) throw new Error(`There is no organization ${organizationId}`)
  return found.last - count + 1
}

export function documentOf({ organizationId: organization, time, event }: AuditEntry, position: number): AuditDocument {
  const { kind, policyId, issuerId } = keysOf(event)
  return { _id: { organization, position }, time, kind, policyId, issuerId, event }
}

/** Writes the entry of a change at a position that the same transaction has taken. */
export async function logChange(
  collections: Collections,
  session: ClientSession,
  {
    position,
    ...change
  }: ChangeOf & {
    readonly position: number
    readonly before?: JsonObject
    readonly after?: JsonObject
  },
): Promise<void> {
  await collections.audit.insertOne(documentOf(changeEntry(change), position), { session, ...LIMIT })
}

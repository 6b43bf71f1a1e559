import type { ClientSession } from 'mongodb'
import type { By, Changed } from '#services/identity/domain/audit.ts'
import { changeEntry } from '#services/identity/run/snapshots.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { keysOf } from '../stored/records.ts'
import type { AuditDocument, Collections } from './documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Something that a transaction may change in an organization, and who does it. */
export interface ChangeOf extends Pick<Changed, 'resource' | 'resourceId'> {
  readonly organizationId: string
  readonly by: By
}

/**
 * Takes positions of an organization for entries; undefined: there is no such organization. As the first thing in a transaction it
 * puts all changes of the organization in an order, since the next one waits here until this one is committed.
 */
export async function takePositions(
  { organizations }: Collections,
  organizationId: string,
  count: number,
  session?: ClientSession,
): Promise<number | undefined> {
  const found = await organizations.findOneAndUpdate(
    { _id: organizationId },
    { $inc: { lastPosition: count } },
    { returnDocument: 'after', projection: { lastPosition: 1 }, ...LIMIT, ...(session && { session }) },
  )
  return found === null ? undefined : found.lastPosition - count + 1
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
  const { organizationId, time, event } = changeEntry(change)
  const document: AuditDocument = { _id: { organization: organizationId, position }, time, ...keysOf(event), event }
  await collections.audit.insertOne(document, { session, ...LIMIT })
}

import type { FindOptions } from 'mongodb'
import type { StoredMessage } from '#services/session/domain/message.ts'
import { type MessageRecord, type PartRecord, toStoredMessage } from '../tables/messages.ts'
import type { Collections } from './collections.ts'

/** Messages of a workspace with their parts. */
export async function readStored(
  { parts }: Collections,
  records: readonly MessageRecord[],
  options: FindOptions,
): Promise<StoredMessage[]> {
  const steps = records.filter(({ type }) => type === 'assistant')
  const workspace = records[0]?.workspace ?? ''
  const found = new Map<string, PartRecord[]>()
  if (steps.length > 0) {
    const filter = { workspace, message: { $in: steps.map(({ id }) => id) } }
    const sort = { workspace: 1, message: 1, attempt: 1, ordinal: 1 } as const
    for await (const part of parts.find<PartRecord>(filter, { ...options, sort })) {
      const known = found.get(part.message)
      if (known === undefined) found.set(part.message, [part])
      else known.push(part)
    }
  }
  return records.map((record) => toStoredMessage(record, found.get(record.id) ?? []))
}

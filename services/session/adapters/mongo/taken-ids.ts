import type { ClientSession } from 'mongodb'
import type { TakenId } from '#services/session/domain/inbox.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { type InboxRecord, toTakenId } from '../common/inbox-record.ts'
import { type Collections, keyOf } from './collections.ts'
import type { Belonging } from './hidden/hidden-sessions.ts'
import type { Transaction } from './transaction.ts'

interface Options {
  readonly session?: ClientSession
  readonly maxTimeMS: number
  /** Whether the session of a record is there. */
  readonly isOwned: (record: Belonging) => Promise<boolean>
}

/** What an id of a workspace names. */
export async function readTakenId(
  { inbox, messages }: Collections,
  workspace: string,
  id: string,
  { isOwned, ...options }: Options,
  transaction: Transaction | undefined,
): Promise<TakenId | undefined> {
  const unwritten = transaction?.unwritten(id)
  if (unwritten === 'changed') await transaction?.flush()
  else if (unwritten !== undefined) return toTakenId(unwritten)
  const _id = keyOf(workspace, id)
  // The id of a message that was no input is never another's: what any reader sees will do, and it costs no time.
  const named = { projection: { sessionId: 1, seq: 1 } } as const
  const [item, message] = await Promise.all([
    inbox.findOne<InboxRecord>({ _id }, options),
    messages.findOne<Belonging>({ _id }, { ...named, maxTimeMS: MAX_TIME_MS }),
  ])
  if (item !== null && (await isOwned(item))) return toTakenId(item)
  if (message !== null && (await isOwned(message))) return { sessionId: message.sessionId, input: undefined }
  if (item === null && message === null) return undefined
  // Left by a session that is being removed, unless somebody else has taken it over by now.
  const now = message && (await messages.findOne<Belonging>({ _id }, { ...named, ...options }))
  if (now !== null && (await isOwned(now))) return { sessionId: now.sessionId, input: undefined }
  await transaction?.evict(id)
  return undefined
}

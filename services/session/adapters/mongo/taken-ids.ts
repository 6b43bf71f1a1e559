import type { ClientSession } from 'mongodb'
import type { TakenId } from '#services/session/domain/inbox.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { type InboxRecord, toTakenId } from '../tables/inbox.ts'
import { type Collections, keyOf } from './collections.ts'
import type { Belonging } from './hidden-sessions.ts'
import type { Transaction } from './transaction.ts'

interface Options {
  readonly session?: ClientSession
  readonly maxTimeMS: number
  readonly isOwned: (record: Belonging) => Promise<boolean>
}

/** The existing use of an id in a workspace. */
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
  // A message that was no input never gives its id to another one, so a read outside of the transaction is enough, and
  // takes no time.
  const named = { projection: { sessionId: 1, seq: 1 } } as const
  const [item, message] = await Promise.all([
    inbox.findOne<InboxRecord>({ _id }, options),
    messages.findOne<Belonging>({ _id }, { ...named, maxTimeMS: MAX_TIME_MS }),
  ])
  if (item !== null && (await isOwned(item))) return toTakenId(item)
  if (message !== null && (await isOwned(message))) return { sessionId: message.sessionId, input: undefined }
  if (item === null && message === null) return undefined
  // A session that is being removed has left it, unless somebody else has used the id since.
  const now = message && (await messages.findOne<Belonging>({ _id }, { ...named, ...options }))
  if (now !== null && (await isOwned(now))) return { sessionId: now.sessionId, input: undefined }
  await transaction?.evict(id)
  return undefined
}

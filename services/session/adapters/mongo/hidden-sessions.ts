import type { ClientSession, Document } from 'mongodb'
import type { Removal } from '#services/session/ports/session-removal.ts'
import { randomText } from '#shared/ids.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { type RecordOf, toRow } from '#shared/stores/table.ts'
import { stillBelow } from '../common/refusals.ts'
import { hiddenSessions } from '../tables/sessions.ts'
import { type Collections, type HiddenDocument, keyOf, SERVER_NOW } from './collections.ts'

/** What a record says of where it belongs. */
export interface Belonging {
  readonly sessionId: string
  readonly seq: number
}

const STAGED = { kind: { $ne: 'removal' } } as const

/** A document of `hiddenSessions`; it is due at once. */
export function hiddenDocument(
  base: number,
  hidden: Omit<RecordOf<typeof hiddenSessions.columns>, 'until'>,
): HiddenDocument {
  const _id = `${keyOf(hidden.workspace, hidden.sessionId)}/${randomText(12)}`
  return { _id, base, ...toRow(hiddenSessions.columns, { ...hidden, until: 0 }) }
}

export function toRemoval({ _id, workspace, sessionId, tools }: HiddenDocument): Removal {
  return { workspace, sessionId, tools: hiddenSessions.columns.tools.decode(tools), key: _id }
}

/** An update that extends the time of a hidden session. */
export function keepFor(durationMs: number, changes: Document = {}): Document[] {
  return [{ $set: { ...changes, until: { $add: [SERVER_NOW, durationMs] } } }]
}

/** Staged sessions whose time is not over. */
export const LIVE = { ...STAGED, $expr: { $gt: ['$until', SERVER_NOW] } } as const

/**
 * The number above which a new session with that id has its numbers: below it are the documents of earlier sessions
 * with the id, and the event of the last removal. `staged`: somebody else is about to make one. To be called in a
 * transaction that has found no session. The event is read outside of it, at the same time: one that is written later,
 * or in the transaction, comes with a hidden session. Rejects with STORE_UNAVAILABLE while there are sessions below an
 * earlier one with the id.
 */
export async function readBase(
  { hiddenSessions: hiddenDocuments, events }: Collections,
  workspace: string,
  sessionId: string,
  session: ClientSession,
): Promise<{ readonly base: number; readonly staged: boolean }> {
  const own = { workspace, sessionId }
  const [hidden, lastEvent] = await Promise.all([
    hiddenDocuments.find(own, { session, maxTimeMS: MAX_TIME_MS }).toArray(),
    events.findOne(own, {
      sort: { seq: -1 },
      projection: { seq: 1 },
      readConcern: { level: 'local' },
      maxTimeMS: MAX_TIME_MS,
    }),
  ])
  if (hidden.some(({ above }) => above !== null)) throw stillBelow()
  const staged = hidden.some(({ kind }) => kind !== 'removal')
  // An event of a removal has the number after its session's last.
  return { base: Math.max(lastEvent?.seq ?? 0, ...hidden.map(({ seq }) => seq + 1)), staged }
}

/** Turns what is staged under an id into removals. */
export async function giveUpStaged(
  collections: Collections,
  filter: Pick<HiddenDocument, 'workspace' | 'sessionId'> & Partial<Pick<HiddenDocument, '_id'>>,
  session?: ClientSession,
): Promise<void> {
  const update = { $set: { kind: 'removal', until: 0 } } as const
  await collections.hiddenSessions.updateMany({ ...filter, ...STAGED }, update, { maxTimeMS: MAX_TIME_MS, session })
}

/** Whether a record belongs to a session that exists or is staged, and not to one that is being removed. */
export async function isOwned(
  collections: Collections,
  workspace: string,
  record: Belonging,
  session?: ClientSession,
): Promise<boolean> {
  return (await ownedOf(collections, workspace, [record], session)).length > 0
}

/** Those of some records that belong to a session that exists or is staged, and not to one that is being removed. */
export async function ownedOf<R extends Belonging>(
  { sessions, hiddenSessions: hiddenDocuments }: Collections,
  workspace: string,
  records: readonly R[],
  session?: ClientSession,
): Promise<R[]> {
  const options = { maxTimeMS: MAX_TIME_MS, session }
  const keys = new Set(records.map(({ sessionId }) => keyOf(workspace, sessionId)))
  const documents = await sessions.find({ _id: { $in: [...keys] } }, { ...options, projection: { base: 1 } }).toArray()
  const bases = new Map(documents.map(({ _id, base }) => [_id, base]))
  const isVisible = ({ sessionId, seq }: R): boolean => seq > (bases.get(keyOf(workspace, sessionId)) ?? seq)
  const others = new Set(records.filter((record) => !isVisible(record)).map(({ sessionId }) => sessionId))
  if (others.size === 0) return [...records]
  const filter = { workspace, sessionId: { $in: [...others] }, ...STAGED }
  const staged = await hiddenDocuments.find(filter, { ...options, projection: { sessionId: 1, base: 1 } }).toArray()
  return records.filter((record) => {
    const { sessionId, seq } = record
    return isVisible(record) || staged.some((one) => one.sessionId === sessionId && one.base < seq)
  })
}

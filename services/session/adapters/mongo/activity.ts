import type { Document, Filter } from 'mongodb'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { ActivityQuery } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { projectionOf } from '#shared/stores/mongo-table.ts'
import { type ActivityRecord, callColumns, countedColumns, toCounted } from '../tables/activity.ts'
import { type Collections, type Keyed, keyOf, type SessionDocument } from './collections.ts'

/** How many documents to read at once. */
const BATCH = 1_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** What is known about a session; undefined: it does not exist; null: it is filtered out. */
type SessionFacts = { readonly isRoot: boolean; readonly base: number } | null | undefined

/** See SessionLists.listActivity. */
export async function* listActivity(
  collections: Collections,
  workspace: string,
  { from, to, projectId, calls }: ActivityQuery,
): AsyncGenerator<readonly CountedActivity[]> {
  const facts = new Map<string, SessionFacts>()
  const projection = { ...projectionOf(calls ? callColumns : countedColumns), sessionId: 1, seq: 1, id: 1 }
  const options = {
    projection,
    sort: { timeCreated: 1, id: 1 },
    limit: BATCH,
    hint: 'activityByTime',
    ...LIMIT,
  } as const
  let after: ActivityRecord | undefined
  for (;;) {
    const filter = { workspace, ...rangeOf(from, to, after) } as Filter<Keyed<ActivityRecord>>
    const records = await collections.activity.find<ActivityRecord>(filter, options).toArray()
    await learn(collections, workspace, projectId, facts, records)
    yield records.flatMap((record) => {
      const session = facts.get(record.sessionId)
      // It belongs to a session with the same id that is being removed.
      return session == null || record.seq <= session.base ? [] : [toCounted(record, record.sessionId, session.isRoot)]
    })
    if (records.length < BATCH) return
    after = records.at(-1)
  }
}

function rangeOf(from: number | undefined, to: number, after: ActivityRecord | undefined): Document {
  if (after === undefined) return { timeCreated: { $lt: to, ...(from !== undefined && { $gte: from }) } }
  const { timeCreated, id } = after
  return {
    timeCreated: { $lt: to, $gte: timeCreated },
    $or: [{ timeCreated: { $gt: timeCreated } }, { id: { $gt: id } }],
  }
}

/** Reads the sessions of records that are not known yet. */
async function learn(
  { sessions }: Collections,
  workspace: string,
  projectId: string | undefined,
  facts: Map<string, SessionFacts>,
  records: readonly ActivityRecord[],
): Promise<void> {
  const fresh = [...new Set(records.map(({ sessionId }) => sessionId))].filter((id) => !facts.has(id))
  if (fresh.length === 0) return
  for (const id of fresh) facts.set(id, undefined)
  const projection = { sessionId: 1, parentId: 1, projectId: 1, base: 1 } as const
  const filter = { _id: { $in: fresh.map((id) => keyOf(workspace, id)) } }
  const cursor = sessions.find<Pick<SessionDocument, keyof typeof projection>>(filter, { projection, ...LIMIT })
  for (const session of await cursor.toArray()) {
    const isWanted = projectId === undefined || session.projectId === projectId
    facts.set(session.sessionId, isWanted ? { isRoot: session.parentId === null, base: session.base } : null)
  }
}

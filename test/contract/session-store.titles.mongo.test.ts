import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toSession } from '#services/session/adapters/common/session-record.ts'
import { collectionsOf, keyOf, type SessionDocument } from '#services/session/adapters/mongo/collections.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { waitingPlace } from '#services/session/adapters/mongo/titles/title-blocks.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { inModel } from './session-store.any-lists.ts'
import { admission, get, listed, ManualClock, newSession, W } from './session-store.support.ts'

/** More than are read in one batch. */
const IN_AN_HOUR = 700
/**
 * The titles of each hour: in one order, all titles with one word come after all with the other, and one direction
 * through the list is the longer one.
 */
const HOURS = ['a needle', 'a needle', 'a pin', 'a pin']
const HOUR_MS = 3_600_000

test('searches that end in the middle of many titles find the first ones of the list, and go on after them', {
  skip: skipWithoutMongo,
}, async () => {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(async () => void (await mongo.db.dropDatabase()))
  const clock = new ManualClock()
  await using opened = await openMongoSessionStore({ mongo, clock })
  const store = withUseCases(opened)
  await store.createSession(W, newSession('ses_0', { title: 'a title' }))
  const { sessions } = collectionsOf(mongo.db)
  const [first] = await sessions.find().toArray()
  assert.ok(first)
  const documents = HOURS.flatMap((title, hour) =>
    Array.from({ length: IN_AN_HOUR }, (_, i): SessionDocument => {
      const id = `ses_${hour}_${i}`
      // Those that come first in a list are stored in the middle.
      const timeUpdated = first.timeUpdated + hour * HOUR_MS + ((i + IN_AN_HOUR / 2) % IN_AN_HOUR)
      const own = { _id: keyOf(W, id), id, title, titleSearch: title, timeUpdated }
      return { ...first, ...own, titlePlace: waitingPlace(timeUpdated) }
    }),
  )
  // A page of these has those of many hours.
  for (let i = 0; i < 200; i++) {
    const [id, title, timeUpdated] = [
      `ses_rare_${i}`,
      'a rare title',
      first.timeUpdated - Math.floor(i / 4) * HOUR_MS - i,
    ]
    const own = { _id: keyOf(W, id), id, title, titleSearch: title, timeUpdated }
    documents.push({ ...first, ...own, titlePlace: waitingPlace(timeUpdated) })
  }
  await sessions.deleteMany({})
  await sessions.insertMany(documents)
  clock.advance(HOURS.length * HOUR_MS)
  // It moves to the front, along with its hour.
  const moved = 'ses_0_0'
  await store.admitPrompt(W, admission('msg_1', { sessionId: moved, wake: false }))
  const all = [...documents.filter(({ id }) => id !== moved).map(toSession), await get(store, moved)]
  for (const [search, order] of [
    ['needle', 'descending'],
    ['pin', 'ascending'],
    ['rare title', 'descending'],
  ] as const) {
    const expected = inModel(all, { search, order })
    let after: { readonly timeUpdated: number; readonly id: string } | undefined
    for (let page = 0; page < 20; page++) {
      const found = await listed(store, { search, order, limit: 50, ...(after && { after }) })
      assert.deepEqual(
        found.map(({ id }) => id),
        expected.slice(page * 50, page * 50 + 50).map(({ id }) => id),
        `${order}, page ${page}`,
      )
      after = found.at(-1)
      if (after === undefined) break
    }
  }
})

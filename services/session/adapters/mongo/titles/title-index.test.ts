import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import { describeSession } from '#services/session/domain/description.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { fromStaged } from '#test/contract/session-store.removal.ts'
import { admission, W } from '#test/contract/session-store.support.ts'
import { skipWithoutMongo } from '#test/support/mongo.ts'
import { expected, findsAll, HOUR_MS, type TitledDocuments, titledDocuments } from '#test/support/titled-documents.ts'
import { waitUntil } from '#test/support/wait-until.ts'
import { MongoTitleIndex } from './title-index.ts'

const skip = skipWithoutMongo

function rename({ store }: TitledDocuments, sessionId: string, title: string): Promise<unknown> {
  const description = { title, metadata: undefined, permissions: undefined }
  return store.revise({ workspace: W, sessionId }, nothing, (revision) => {
    describeSession(revision, description, { words: false, underWay: new Set() })
  })
}

function move({ store }: TitledDocuments, sessionId: string, projectId: string): Promise<unknown> {
  return store.revise({ workspace: W, sessionId }, nothing, (revision) => {
    revision.set({ projectId, directory: '/a' })
  })
}

function prompt({ store }: TitledDocuments, sessionId: string): Promise<unknown> {
  return store.admitPrompt(W, admission(`msg_${sessionId}_${Math.random()}`, { sessionId, wake: false }))
}

/** Every so-many-th session of a workspace. */
async function some(all: TitledDocuments, step: number, rest: number): Promise<string[]> {
  return (await all.sessions()).map(({ id }) => id).filter((id) => Number(id.slice(4)) % step === rest)
}

async function each(ids: readonly string[], change: (id: string) => Promise<unknown>): Promise<void> {
  await Promise.all(ids.map(change))
}

test('indexed titles, and those waiting to be, are found in the order of the list, whatever happens to them', {
  skip,
}, async () => {
  await using all = await titledDocuments()
  await all.add(2 * BLOCK + 400, 4_000)
  await findsAll(all, 'all wait')
  await all.indexed()
  assert.equal((await all.blocks()).length, 2)
  await findsAll(all, 'two blocks')
  all.clock.advance(2 * HOUR_MS)
  await each(await some(all, 60, 3), (id) => prompt(all, id))
  await each(await some(all, 59, 4), (id) => rename(all, id, `renamed ${id}`))
  await each(await some(all, 58, 5), (id) => move(all, id, 'even'))
  await each(await some(all, 57, 6), (id) => all.store.removeSession(W, id))
  const staged = await all.store.stageSession(W, 'ses_imported', 'import')
  await all.store.commitStaged(staged, fromStaged('ses_imported', 'renamed parser'))
  await findsAll(all, 'prompted, renamed, moved, removed, imported')
  await all.add(BLOCK, 1_000)
  await all.indexed()
  await findsAll(all, 'indexed again')
})

test('activity within an hour leaves a session its place; in another hour, or elsewhere, it waits again', {
  skip,
}, async () => {
  await using all = await titledDocuments()
  await all.add(BLOCK + 100, 1)
  await all.indexed()
  const placed = (await all.sessions()).filter(({ titlePlace }) => titlePlace >= 0)
  const [one, two, three] = placed.map(({ id }) => id) as [string, string, string]
  const waiting = await all.waiting()
  await prompt(all, one)
  assert.equal(await all.waiting(), waiting)
  all.clock.advance(HOUR_MS)
  await prompt(all, one)
  await move(all, two, 'another')
  await rename(all, three, 'another')
  assert.equal(await all.waiting(), waiting + 3)
})

test('sessions that change during a search cause no other to be missed, and none to be found twice', {
  skip,
}, async () => {
  await using all = await titledDocuments()
  await all.add(3 * BLOCK, 3_000)
  await all.indexed()
  for (const order of ['ascending', 'descending'] as const) {
    const query = { search: 'of the parser', order, limit: 100_000 }
    const quiet = new Set(await some(all, 2, 1))
    let turn = 0
    const found = await all.find(query, async () => {
      turn++
      if (turn > 2) return
      // Those of a block wait again, and are in another one before the search goes on.
      const [block] = await all.blocks()
      all.clock.advance(HOUR_MS)
      await each(await some(all, 800, 2 * turn), (id) => prompt(all, id))
      await each(await some(all, 802, 2 * turn), (id) => all.store.removeSession(W, id))
      await all.collections.titleBlocks.updateOne({ _id: block as number }, { $set: { placed: 10 * BLOCK } })
      await all.add(BLOCK, 10)
      await all.indexed()
    })
    assert.ok(turn > 2, `${turn} turns`)
    assert.equal(new Set(found).size, found.length, 'none twice')
    const wanted = expected(query, await all.sessions()).filter((id) => quiet.has(id))
    assert.deepEqual(
      found.filter((id) => quiet.has(id)),
      wanted,
    )
  }
  await findsAll(all, 'afterwards')
})

/** An index whose process is paused before it gives the first places. */
function pausedIndex(all: TitledDocuments) {
  const [reached, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const transact: Mongo['transact'] = async (work, limitMs) => {
    reached.resolve()
    await over.promise
    return await all.mongo.transact(work, limitMs)
  }
  const titles = new MongoTitleIndex(Object.assign(Object.create(all.mongo), { transact }), all.collections)
  titles.look(W)
  return { reached: reached.promise, resume: over.resolve, titles }
}

test('what is written while its block is made waits for another one', { skip }, async () => {
  await using all = await titledDocuments()
  await all.add(BLOCK + 100, 4_000)
  const paused = pausedIndex(all)
  await using _ = paused.titles
  await paused.reached
  await rename(all, 'ses_1', 'renamed 1')
  await move(all, 'ses_2', 'odd')
  await all.store.removeSession(W, 'ses_3')
  paused.resume()
  await all.indexed(paused.titles)
  const [block] = await all.collections.titleBlocks.find().toArray()
  assert.equal(block?.placed, BLOCK - 3)
  await findsAll(all, 'written meanwhile')
})

test('a process that is paused while it makes a block places nothing once another has given the block up', {
  skip,
}, async () => {
  await using all = await titledDocuments()
  await all.add(BLOCK + 100, 1_000)
  const paused = pausedIndex(all)
  await paused.reached
  const [left] = await all.blocks()
  await all.collections.titleTurns.updateOne({}, { $set: { until: 0 } })
  await all.indexed()
  const [block] = await all.blocks()
  assert.ok(left !== undefined && block !== undefined && block > left, 'the unfinished one was removed')
  // What is in its block now waits again, as the other one found it.
  await all.collections.sessions.updateMany({ titlePlace: { $gte: 0 } }, [
    { $set: { titlePlace: { $subtract: [-1, { $floor: { $divide: ['$timeUpdated', HOUR_MS] } }] } } },
  ])
  const waiting = await all.waiting()
  paused.resume()
  await paused.titles[Symbol.asyncDispose]()
  assert.equal(await all.waiting(), waiting)
  await findsAll(all, 'afterwards')
})

test('a block of which little is left goes with its terms, and so does one that a crash left half written', {
  skip,
}, async () => {
  await using all = await titledDocuments()
  await all.add(2 * BLOCK, 1_000)
  const paused = pausedIndex(all)
  await paused.reached
  const ending = paused.titles[Symbol.asyncDispose]()
  await all.collections.titleTurns.updateOne({}, { $set: { until: 0 } })
  await all.add(BLOCK, 1_000)
  await all.indexed()
  paused.resume()
  await ending
  const before = await all.blocks()
  await all.collections.sessions.deleteMany({ titlePlace: { $gte: 0 }, id: /[0-8]$/ })
  await waitUntil('the blocks to go', async () => {
    await all.add(BLOCK, 1_000)
    await all.indexed()
    return (await all.blocks()).some((block) => before.includes(block)) ? undefined : true
  })
  const { titleTerms } = all.collections
  const live = new Set(await all.blocks())
  const keys = await titleTerms.distinct('_id')
  assert.deepEqual(
    [...new Set(keys.map((key) => Math.floor(key / 64)))].filter((block) => !live.has(block)),
    [],
  )
  await findsAll(all, 'cleared')
})

test('two processes make no block of the same sessions', { skip }, async () => {
  await using all = await titledDocuments()
  await using other = new MongoTitleIndex(all.mongo, all.collections)
  await all.add(4 * BLOCK, 1_000)
  await Promise.all([all.indexed(), all.indexed(other)])
  const blocks = await all.collections.titleBlocks.find().toArray()
  assert.deepEqual(
    blocks.map(({ placed }) => placed),
    [BLOCK, BLOCK, BLOCK],
  )
})

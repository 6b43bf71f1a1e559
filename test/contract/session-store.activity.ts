import assert from 'node:assert/strict'
import { messageOf, withChanges } from '#services/session/domain/message.ts'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { ActivityQuery } from '#services/session/ports/session-lists.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { fromStaged } from './session-store.removal.ts'
import {
  acquire,
  admission,
  assistant,
  begin,
  newSession,
  OTHER,
  type StoreTest,
  toolPart,
  W,
} from './session-store.support.ts'

const TOKENS = { ...NO_TOKENS, input: 7, cacheRead: 3 }

/** The data of statistics. */
export function activityCases(test: StoreTest): void {
  test('a prompt counts when it is delivered, and a step once it has ended, with its calls', async (fixture) => {
    const { store, clock } = fixture
    await store.createSession(W, newSession('ses_2'))
    await store.admit(W, admission('msg_waiting', { sessionId: 'ses_2', wake: false }))
    const lease = await begin(fixture)
    const begun = assistant('msg_step', {}, clock.now() + 1)
    await store.recordStep(lease, { message: begun, events: [] })
    assert.deepEqual(
      (await read(store)).map(({ type }) => type),
      ['prompt'],
    )
    const parts = [
      toolPart('call_1', 'completed', { completeTime: 1_800_000_000_250 }),
      toolPart('call_2', 'streaming'),
    ]
    const ended = withChanges(begun, { parts, costNanos: 12n, tokens: TOKENS, completeTime: clock.now() + 2 })
    await store.recordStep(lease, { message: ended, events: [] })
    const [prompt, step, ...more] = await read(store)
    assert.deepEqual(more, [])
    const { session } = prompt as CountedActivity
    const none = { model: undefined, tokens: undefined, costNanos: undefined, calls: [] }
    assert.deepEqual(prompt, { session, isRoot: true, type: 'prompt', timeCreated: clock.now(), ...none })
    const calls = [
      { name: 'read', end: 'succeeded', durationMs: 250 },
      { name: 'read', end: 'unfinished' },
    ]
    assert.deepEqual(step, {
      session,
      isRoot: true,
      type: 'step',
      timeCreated: clock.now() + 1,
      tokens: TOKENS,
      costNanos: 12n,
      calls,
      model: JSON.stringify({ modelId: 'echo', providerId: 'portico' }),
    })
    assert.deepEqual((await read(store, { calls: false }))[1]?.calls, [])
    assert.deepEqual(await read(store, {}, OTHER), [])
  })

  test('a step that its owner left is counted when it is settled, once', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const lost = await begin(fixture, shortMs)
    await store.recordStep(lost, { message: assistant('msg_step'), events: [] })
    await fixture.outlast()
    const lease = await acquire(store, longMs)
    await store.settleAborted(lease)
    await store.settleAborted(lease)
    assert.deepEqual(
      (await read(store)).map(({ type }) => type),
      ['step', 'prompt'].toSorted(),
    )
  })

  test('a range has its first millisecond and not its last, and batches lose nothing between them', async ({
    store,
  }) => {
    await store.createSession(W, newSession('ses_1'))
    const times = Array.from({ length: 1_234 }, (_, i) => 1_000 + (i >> 2))
    await store.revise({ workspace: W, sessionId: 'ses_1' }, nothing, (revision) => {
      for (const [i, timeCreated] of times.entries()) {
        revision.count(assistant(`msg_${i}`, { completeTime: timeCreated }, timeCreated))
      }
    })
    const timesOf = async (query: Partial<ActivityQuery>) =>
      (await read(store, query)).map(({ timeCreated }) => timeCreated)
    assert.deepEqual(await timesOf({}), times)
    const [from, to] = [1_010, 1_290]
    assert.deepEqual(
      await timesOf({ from, to }),
      times.filter((time) => time >= from && time < to),
    )
    assert.deepEqual(await timesOf({ to: 1_000 }), [])
  })

  test('the activity of an import counts after its commit, that of a fork does not, and a removal takes it away', async ({
    store,
  }) => {
    const step = assistant('msg_step', { completeTime: 8 }, 7)
    const settled = [said('msg_1', 5), step, assistant('msg_running', {}, 9)]
    const imported = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(imported, settled)
    assert.deepEqual(await read(store), [])
    await store.commitStaged(imported, fromStaged('ses_1'))
    const forked = await store.stageSession(W, 'ses_2', 'fork')
    await store.appendStaged(forked, [said('msg_2', 5), { ...step, messageId: 'msg_copy' }])
    await store.commitStaged(forked, fromStaged('ses_2'))
    const counted = (await read(store)).map(({ type, timeCreated }) => [type, timeCreated])
    assert.deepEqual(counted, [
      ['prompt', 5],
      ['step', 7],
    ])
    await store.removeSession(W, 'ses_1')
    assert.deepEqual(await read(store), [], 'at once')
    await store.createSession(W, newSession('ses_1'))
    assert.deepEqual(await read(store), [], 'nor are they another session’s of that id')
  })

  test('activity shows whether its session is a child or a root, and is counted for the session’s project', async ({
    store,
  }) => {
    await store.createSession(W, newSession('ses_1'))
    await store.createSession(W, newSession('ses_2', { directory: '/other', projectId: 'prj_2' }), 'ses_1')
    for (const sessionId of ['ses_1', 'ses_2']) {
      await store.revise({ workspace: W, sessionId }, nothing, (revision) =>
        revision.count(assistant(`msg_${sessionId}`, { completeTime: 6 }, 5)),
      )
    }
    assert.deepEqual(
      (await read(store)).map(({ isRoot }) => isRoot),
      [true, false],
    )
    assert.deepEqual(
      (await read(store, { projectId: 'prj_2' })).map(({ isRoot }) => isRoot),
      [false],
    )
    assert.deepEqual(await read(store, { projectId: 'prj_3' }), [])
  })
}

function said(messageId: string, createTime: number) {
  return messageOf({ messageId, createTime }, 'user', { text: messageId })
}

async function read(store: UseCases, query: Partial<ActivityQuery> = {}, workspace = W): Promise<CountedActivity[]> {
  const all: CountedActivity[] = []
  const asked = { from: undefined, to: 2_000_000_000_000, projectId: undefined, calls: true, ...query }
  for await (const batch of store.listActivity(workspace, asked)) all.push(...batch)
  return all
}

import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { Delivery, ForkOriginSchema, type Session } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { forkedSession } from '#services/session/domain/lifetime/fork-session.ts'
import { messageOf } from '#services/session/domain/message.ts'
import type { CreateSession } from '#services/session/domain/new-session.ts'
import { stepPart } from '#test/support/step-part.ts'
import { finishRemovals, fromStaged, textOf } from './session-store.removal.ts'
import {
  admission,
  admit,
  assistant,
  begin,
  listed,
  messages,
  names,
  newSession,
  OTHER,
  plain,
  refusal,
  type StoreTest,
  toolPart,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

function said(messageId: string, text = messageId) {
  return messageOf({ messageId, createTime: 1 }, 'user', { text })
}

const STEP = assistant('msg_step', {
  parts: [toolPart('call_1', 'completed'), stepPart('text', { text: 'Done.' })],
  completeTime: 2,
})

/** How sessions that are too large for one transaction are created. */
export function stagingCases(test: StoreTest): void {
  test('a staged session is nowhere before it is committed, and whole then', async (fixture) => {
    const { store } = fixture
    await store.createSession(W, newSession('ses_2'))
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(staged, [said('msg_1'), STEP])
    await store.appendStaged(staged, [])
    await store.appendStaged(staged, [said('msg_2')])
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
    assert.equal(await store.listMessages(W, 'ses_1', { limit: 10, order: Order.ASCENDING }), undefined)
    assert.equal(await store.getMessage(W, 'ses_1', 'msg_1'), undefined)
    await assert.rejects(store.admit(W, admission('msg_3')), refusal('SESSION_NOT_FOUND'))
    await assert.rejects(store.removeSession(W, 'ses_1'), refusal('SESSION_NOT_FOUND'))
    const taken = store.admit(W, admission('msg_1', { sessionId: 'ses_2' }))
    await assert.rejects(taken, refusal('PROMPT_CONFLICT'))
    const [event] = await eventsOf(store, 1, () => store.commitStaged(staged, fromStaged('ses_1')))
    assert.deepEqual([event?.sessionId, event?.event.case], ['ses_1', 'sessionCreated'])
    const found = await messages(store)
    assert.deepEqual(names(found), ['msg_1', 'msg_step', 'msg_2'])
    assert.deepEqual(plain(found[1]?.message), plain(STEP))
    assert.ok((event?.seq ?? 0) > (found.at(-1)?.seq ?? Number.POSITIVE_INFINITY))
    assert.deepEqual(await finishRemovals(store), [])
    await store.admit(W, admission('msg_3'))
    assert.deepEqual(names(await messages(store)), ['msg_1', 'msg_step', 'msg_2'])
  })

  test('a staged session that is given up leaves nothing, and causes no event', async (fixture) => {
    const { store } = fixture
    const staged = await store.stageSession(W, 'ses_1', 'fork')
    await store.appendStaged(staged, [said('msg_1'), STEP])
    await store.giveUpStaged(staged)
    await assert.rejects(store.appendStaged(staged, []), refusal('STORE_UNAVAILABLE'))
    assert.deepEqual(
      (await finishRemovals(store)).map(({ sessionId, tools }) => [sessionId, tools]),
      [['ses_1', undefined]],
    )
    const rows = Object.values(await fixture.contents()).flatMap((table) => table.map((row) => JSON.stringify(row)))
    assert.deepEqual(
      rows.filter((row) => /ses_1|msg_|call_1/.test(row)),
      [],
    )
    await fixture.store.giveUpStaged(staged)
    assert.equal(await fixture.store.takeRemoval(1_000), undefined)
  })

  test('an archived session is read and listed as one, and its fork is none', async ({ store, clock }) => {
    const archived: CreateSession = (now, newId, seq) => {
      const { session, revision } = fromStaged('ses_1')(now, newId, seq)
      return { session: { ...session, archiveTime: 5 }, revision }
    }
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.commitStaged(staged, archived)
    clock.advance(1)
    const fork = await store.stageSession(W, 'ses_2', 'fork')
    const source = (await store.getSession(W, 'ses_1')) as Session
    const origin = create(ForkOriginSchema, { sessionId: 'ses_1', messageId: 'msg_1', through: true })
    await store.commitStaged(fork, forkedSession(source, undefined, origin, 'ses_2', 'evt_1'))
    assert.deepEqual(
      (await listed(store, {})).map(({ sessionId, archiveTime }) => [sessionId, archiveTime]),
      [
        ['ses_1', 5],
        ['ses_2', undefined],
      ],
    )
    assert.deepEqual([source.archiveTime, (await store.getSession(W, 'ses_2'))?.archiveTime], [5, undefined])
  })

  test('giving up a committed session changes nothing', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'fork')
    await store.appendStaged(staged, [said('msg_1')])
    await store.commitStaged(staged, fromStaged('ses_1'))
    await store.giveUpStaged(staged)
    assert.deepEqual(await finishRemovals(store), [])
    assert.deepEqual(names(await messages(store)), ['msg_1'])
  })

  test('refuses to commit a copy of a session that was removed, also when another one has its id', async ({
    store,
  }) => {
    const incarnation = async (): Promise<string> =>
      (await store.listMessages(W, 'ses_1', { limit: 1, order: Order.ASCENDING }))?.incarnation ?? ''
    await store.createSession(W, newSession())
    await store.admit(W, admission('msg_old'))
    const source = { sessionId: 'ses_1', incarnation: await incarnation() }
    const staged = await store.stageSession(W, 'ses_2', 'fork', source)
    await store.appendStaged(staged, [said('msg_1')])
    assert.equal(await incarnation(), source.incarnation)
    await store.removeSession(W, 'ses_1')
    for (const again of [false, true]) {
      if (again) await store.createSession(W, newSession())
      const refused = refusal('SESSION_NOT_FOUND', { session_id: 'ses_1' })
      await assert.rejects(store.appendStaged(staged, [said('msg_2')]), refused)
    }
    assert.notEqual(await incarnation(), source.incarnation)
  })

  test('a staged session is found only in its workspace and under its id', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(staged, [said('msg_1')])
    for (const other of [
      { ...staged, workspace: OTHER },
      { ...staged, sessionId: 'ses_2' },
    ]) {
      await assert.rejects(store.appendStaged(other, [said('msg_2')]), refusal('STORE_UNAVAILABLE'))
      await assert.rejects(store.appendStaged(other, []), refusal('STORE_UNAVAILABLE'))
      await assert.rejects(store.commitStaged(other, fromStaged(other.sessionId)), refusal('STORE_UNAVAILABLE'))
      await store.giveUpStaged(other)
    }
    await store.commitStaged(staged, fromStaged('ses_1'))
    assert.deepEqual(names(await messages(store)), ['msg_1'])
  })

  test('a session that is there is not staged, and an id that is taken is not appended', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_waiting')
    await assert.rejects(store.stageSession(W, 'ses_1', 'import'), refusal('SESSION_EXISTS', { session_id: 'ses_1' }))
    const staged = await store.stageSession(W, 'ses_2', 'import')
    for (const id of ['msg_first', 'msg_waiting']) {
      const taken = refusal('MESSAGE_EXISTS', { message_id: id })
      await assert.rejects(store.appendStaged(staged, [said('msg_new'), said(id)]), taken)
    }
    await assert.rejects(store.appendStaged(staged, [said('msg_a'), said('msg_a')]), refusal('MESSAGE_EXISTS'))
    await store.appendStaged(staged, [said('msg_new')])
    await assert.rejects(store.appendStaged(staged, [said('msg_new')]), refusal('MESSAGE_EXISTS'))
    await store.commitStaged(staged, fromStaged('ses_2'))
    assert.deepEqual(names(await messages(store, 'ses_2')), ['msg_new'])
    const elsewhere = await store.stageSession(OTHER, 'ses_2', 'import')
    await store.appendStaged(elsewhere, [said('msg_new')])
  })

  test('a session that is created meanwhile wins', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(staged, [said('msg_1')])
    await store.createSession(W, newSession('ses_1', { title: 'created' }))
    const exists = refusal('SESSION_EXISTS', { session_id: 'ses_1' })
    await assert.rejects(store.appendStaged(staged, [said('msg_2')]), exists)
    await assert.rejects(store.commitStaged(staged, fromStaged('ses_1')), exists)
    await store.giveUpStaged(staged)
    await store.admit(W, admission('msg_1', { text: 'of the created one' }))
    await finishRemovals(store)
    assert.deepEqual(await messages(store), [])
    assert.equal(textOf(await store.getInput(W, 'ses_1', 'msg_1')), 'of the created one')
  })

  test('a staged session whose id was created and removed meanwhile cannot be committed', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.createSession(W, newSession())
    await store.removeSession(W, 'ses_1')
    await assert.rejects(store.commitStaged(staged, fromStaged('ses_1')), refusal('STORE_UNAVAILABLE'))
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
  })

  test('a session that is staged again wins over the first stage', async ({ store }) => {
    const first = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(first, [said('msg_1', 'first'), STEP])
    const second = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(second, [said('msg_1', 'second')])
    const over = refusal('SESSION_EXISTS')
    await assert.rejects(store.appendStaged(first, [said('msg_2')]), over)
    await assert.rejects(store.appendStaged(first, []), over)
    await assert.rejects(store.commitStaged(first, fromStaged('ses_1')), over)
    await store.giveUpStaged(first)
    await store.commitStaged(second, fromStaged('ses_1'))
    await assert.rejects(store.commitStaged(first, fromStaged('ses_1')), refusal('SESSION_EXISTS'))
    await finishRemovals(store)
    const [only, ...others] = await messages(store)
    assert.deepEqual(plain(only?.message), plain(said('msg_1', 'second')))
    assert.deepEqual(others, [])
  })

  test('a staged session that another one replaced cannot be committed, even if the other one was given up', async ({
    store,
  }) => {
    const first = await store.stageSession(W, 'ses_1', 'import')
    const second = await store.stageSession(W, 'ses_1', 'import')
    await assert.rejects(store.appendStaged(first, []), refusal('SESSION_EXISTS'))
    await store.giveUpStaged(second)
    await assert.rejects(store.appendStaged(first, []), refusal('STORE_UNAVAILABLE'))
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
  })

  test('one of a creation and two stagings at once wins, and the store stays whole', async ({ store }) => {
    for (let round = 1; round <= 5; round++) {
      const id = `ses_${round}`
      const stage = async (text: string): Promise<string> => {
        const staged = await store.stageSession(W, id, 'import')
        await store.appendStaged(staged, [said(`msg_${round}`, text)])
        await store.commitStaged(staged, fromStaged(id, text))
        return text
      }
      const create = async () => (await store.createSession(W, newSession(id, { title: 'created' }))).title
      const done = await Promise.allSettled([stage('one'), create(), stage('two')])
      for (const result of done) {
        if (result.status === 'rejected') assert.equal(result.reason.reason, 'SESSION_EXISTS')
      }
      const { title } = (await store.getSession(W, id)) ?? {}
      const texts = (await messages(store, id)).map(
        ({ message }) => message.kind.case === 'user' && message.kind.value.text,
      )
      assert.deepEqual(texts, title === 'created' ? [] : [title])
    }
    await finishRemovals(store)
    assert.equal((await listed(store, {})).length, 5)
  })

  test('a parent that is not there is refused', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'import')
    const orphan = store.commitStaged(staged, fromStaged('ses_1', undefined, 'ses_none'))
    await assert.rejects(orphan, refusal('SESSION_NOT_FOUND', { session_id: 'ses_none' }))
    await store.createSession(W, newSession('ses_none'))
    const child = await store.commitStaged(staged, fromStaged('ses_1', undefined, 'ses_none'))
    assert.equal(child.parentId, 'ses_none')
  })

  test('an id of a session that is being removed can be staged, with the same messages', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await store.removeSession(W, 'ses_1')
    const staged = await store.stageSession(W, 'ses_1', 'import')
    await store.appendStaged(staged, [said('msg_first', 'imported'), STEP])
    await store.commitStaged(staged, fromStaged('ses_1'))
    await finishRemovals(store)
    assert.deepEqual(names(await messages(store)), ['msg_first', 'msg_step'])
    await store.removeSession(W, 'ses_1')
    await finishRemovals(store)
    const rows = Object.values(await fixture.contents()).flatMap((table) => table.map((row) => JSON.stringify(row)))
    assert.deepEqual(
      rows.filter((row) => /msg_|call_1/.test(row)),
      [],
    )
  })
}

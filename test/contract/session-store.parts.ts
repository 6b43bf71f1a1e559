import assert from 'node:assert/strict'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { newStep } from '#services/session/domain/generation/draft-part.ts'
import { StepDraft } from '#services/session/domain/generation/step-draft.ts'
import { type MessageOf, withChanges } from '#services/session/domain/message.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import { OwnedSession } from '#services/session/run/owned-session.ts'
import { extended, sent, started } from '#test/support/session-turns.ts'
import { stepPart } from '#test/support/step-part.ts'
import { assistant, begin, callIn, MODEL, plain, type StoreTest, toolPart, W } from './session-store.support.ts'

/** Messages and their parts. */
export function partCases(test: StoreTest): void {
  test('a step with parts that change comes back as it was written last', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const owned = new OwnedSession(store as never, { lease, checkHeld() {}, heed() {} })
    let before: MessageOf<'assistant'> | undefined
    for (const states of ['', 'streaming', 'running running', 'completed running', 'completed completed']) {
      const parts = states.split(' ').flatMap((state, n) => {
        if (state === '') return []
        const [known, next] = [before?.kind.value.parts[n], toolPart(`call_${n}`, state as 'running')]
        const isSame = known?.part.case === 'tool' && known.part.value.state === callIn(next).state
        return [isSame ? known : next]
      })
      const message = assistant('msg_step', { parts })
      await owned.recordStep(before, { message, events: [] })
      before = message
      assert.deepEqual(plain((await store.getMessage(W, 'ses_1', 'msg_step'))?.message), plain(message))
      const [, read] = await store.readTranscript(lease, 0)
      assert.deepEqual(plain(read?.message), plain(message))
    }
  })

  test('a write of many parts and events comes back whole and in order', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const owned = new OwnedSession(store as never, { lease, checkHeld() {}, heed() {} })
    const ids = Array.from({ length: 40 }, (_, n) => `call_${n}`)
    const message = assistant('msg_step', { parts: ids.map((id) => toolPart(id, 'running')) })
    const { input = {} } = callIn(message.kind.value.parts[0])
    const events = ids.map(
      (callId) => ({ case: 'toolCalled', value: { messageId: 'msg_step', callId, input } }) as const,
    )
    const before = await owned.recordStep(undefined, { message, events: [] })
    const last = await owned.recordStep(withChanges(message, { parts: [] }), { message, events })
    assert.deepEqual(plain((await store.getMessage(W, 'ses_1', 'msg_step'))?.message), plain(message))
    const read = await store.listEvents(W, 'ses_1', { afterSeq: before, limit: 100 })
    assert.deepEqual(plain(read.events.map(({ event }) => event)), plain(events))
    assert.equal(read.events.at(-1)?.seq, last)
    assert.deepEqual(
      read.events.map(({ seq }) => seq),
      ids.map((_, n) => before + 1 + n),
    )
  })

  test('the parts of a failed attempt do not appear in the next one', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    const owned = new OwnedSession(store as never, { lease, checkHeld() {}, heed() {} })
    const draft = new StepDraft(newStep('msg_step', 'build', MODEL, clock.now()), 100)
    const write = async (before: MessageOf<'assistant'> | undefined): Promise<MessageOf<'assistant'>> => {
      const { message } = draft
      await owned.recordStep(before, { message, events: [] })
      return message
    }
    const say = (index: number, words: string): void => {
      draft.follow(sent(started(index, Kind.TEXT)), clock.now())
      draft.follow(sent(extended(index, words)), clock.now())
    }
    say(0, 'One')
    say(1, 'two')
    let before = await write(undefined)
    draft.retry(1, clock.now(), structuredError('provider.unavailable', 'away'))
    before = await write(before)
    const read = async (): Promise<unknown> => {
      const message = (await store.getMessage(W, 'ses_1', 'msg_step'))?.message
      return message?.kind.case === 'assistant' && message.kind.value.parts
    }
    assert.deepEqual(await read(), [])
    say(0, 'Three')
    await write(before)
    assert.deepEqual(await read(), [stepPart('text', { text: 'Three' })])
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { plain } from '#test/support/inference.ts'
import { asKey, eventsUntil, openSessionService } from '#test/support/session-service.ts'
import { fails, hangs, text } from '#test/support/session-turns.ts'

const AWAY = { provider: 'test', message: 'away', status: '503' }

test('a provider that fails is called again, and what it said before is dropped', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_UNAVAILABLE', AWAY, 'Half a'), text('Whole'))
  const { events } = await eventsUntil(service.client, 'executionEnded')
  await service.prompt('Hi')
  await service.wait()
  const [step] = await service.steps()
  assert.deepEqual(plain(step?.parts), [{ part: { case: 'text', value: { text: 'Whole' } } }])
  assert.equal(step?.retry, undefined)
  const ids = service.peers.requests.map(({ requestId }) => requestId.split('-')[1])
  assert.deepEqual(ids, ['1', '2'], 'each attempt has a row in the ledger')
  const cases = (await events).map(({ event }) => event.case)
  assert.equal(cases.lastIndexOf('stepRetried'), cases.indexOf('retryScheduled') + 1, `${cases}`)
  const retry = (await events).flatMap(({ event }) => (event.case === 'retryScheduled' ? [event.value.retry] : []))
  assert.equal(retry[0]?.attempt, 1)
  assert.deepEqual(plain(retry[0]?.error), {
    type: 'provider.unavailable',
    message: 'The provider is unavailable: test: away',
    status: 503,
  })
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('after four repetitions the step and the run have failed, with the reason of the provider', async () => {
  await using service = await openSessionService()
  await service.create()
  for (let i = 0; i < 6; i++) service.peers.turns.push(fails('PROVIDER_UNAVAILABLE', AWAY))
  await service.prompt('Hi')
  await service.wait()
  assert.equal(service.peers.requests.length, 5)
  assert.equal(service.pauses.length, 4)
  const error = { type: 'provider.unavailable', message: 'The provider is unavailable: test: away', status: 503 }
  const [step] = await service.steps()
  assert.deepEqual([step?.finish, plain(step?.error)], ['error', error])
  assert.ok(step?.completeTime)
  const idle = (await service.messages()).at(-1)?.kind
  assert.deepEqual(plain(idle?.value), { outcome: Outcome.FAILED, error })
})

test('the wait that a provider requests is honoured', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_RATE_LIMITED', { ...AWAY, retry_after: '30' }))
  await service.prompt('Hi')
  await service.wait()
  assert.deepEqual(service.pauses, [30_000])
})

test('an error that a retry cannot mend is not retried', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_REFUSED', { provider: 'test', message: 'too long', status: '400' }))
  await service.prompt('Hi')
  await service.wait()
  assert.equal(service.peers.requests.length, 1)
  assert.equal((await service.steps())[0]?.error?.type, 'provider.refused')
  assert.equal(await service.outcome(), Outcome.FAILED)
})

test('a spending limit that does not cover a step fails it; a rate limit of the key is waited for', async () => {
  await using service = await openSessionService()
  await service.create()
  const dear = { limit: 'key', problem: 'the request may cost 2 US dollars, and 1 are left' }
  service.peers.turns.push(fails('CREDIT_INSUFFICIENT', dear))
  await service.prompt('Hi')
  await service.wait()
  const message = `The spending limit of the API key is too low for this step: ${dear.problem}`
  assert.deepEqual(plain((await service.steps())[0]?.error), { type: 'credit.insufficient', message })
  assert.deepEqual([service.peers.requests.length, await service.outcome()], [1, Outcome.FAILED])
  service.peers.turns.push(fails('RATE_LIMITED', { problem: 'too fast', retry_after: '30' }), text('Whole'))
  await service.prompt('Again')
  await service.wait()
  assert.deepEqual([service.pauses, await service.outcome()], [[30_000], Outcome.SUCCEEDED])
})

test('a key that is no longer valid fails the run', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('CREDENTIAL_REFUSED'))
  await service.prompt('Hi')
  await service.wait()
  const idle = (await service.messages()).at(-1)?.kind
  assert.equal(idle?.case === 'idle' && idle.value.error?.type, 'credential.refused')
})

test('an answer without its final event has failed', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(async function* () {
    yield [{ event: { case: 'partStarted', value: { index: 0, kind: 1 } } }]
  })
  await service.prompt('Hi')
  await service.wait()
  assert.equal(service.peers.requests.length, 2)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a stream that breaks after its last message is a whole answer, charged once', async () => {
  for (const broken of [fails('PROVIDER_UNAVAILABLE', AWAY), fails('PROVIDER_REFUSED', AWAY), hangs()]) {
    await using service = await openSessionService()
    await service.create()
    service.peers.turns.push(async function* (request, signal) {
      yield* text('Whole')(request, signal)
      yield* broken(request, signal)
    })
    await service.prompt('Hi')
    await service.wait()
    assert.equal(service.peers.requests.length, 1)
    const [step] = await service.steps()
    assert.deepEqual(plain(step?.parts), [{ part: { case: 'text', value: { text: 'Whole' } } }])
    const { session } = await service.client.getSession({ sessionId: 'ses_1' }, asKey)
    assert.deepEqual([step?.finish, step?.costNanos, session?.costNanos], ['stop', 7n, 7n])
    assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  }
})

test('a repetition that is cut off halfway is not an answer, whatever came before it', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_UNAVAILABLE', AWAY, 'Half'), async function* () {
    yield [{ event: { case: 'partStarted', value: { index: 0, kind: 1 } } }]
  })
  await service.prompt('Hi')
  await service.wait()
  assert.equal(service.peers.requests.length, 3)
  assert.deepEqual(plain((await service.steps())[0]?.parts), [{ part: { case: 'text', value: { text: 'Done.' } } }])
})

test('a new prompt after a failed run begins a new one', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_REFUSED', AWAY))
  await service.prompt('Hi')
  await service.wait()
  await service.prompt('Again')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('an interrupt ends the wait for the next try', async () => {
  const waits = Promise.withResolvers<void>()
  await using service = await openSessionService({
    pause: (_, signal) =>
      new Promise((_, reject) => {
        waits.resolve()
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  await service.create()
  service.peers.turns.push(fails('PROVIDER_UNAVAILABLE', AWAY))
  await service.prompt('Hi')
  await waits.promise
  assert.equal((await service.steps())[0]?.retry?.attempt, 1)
  await service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
  await service.wait()
  const [step] = await service.steps()
  assert.deepEqual([step?.error?.type, step?.retry], ['aborted', undefined])
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
})

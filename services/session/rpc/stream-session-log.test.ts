import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { reasonOf } from '#shared/reasons.ts'
import { TEXT_PART, wordEvent } from '#test/support/session-event.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { connectHttp2, forEachTransport } from '#test/support/transports.ts'
import type { VolatileEvent } from '../domain/event.ts'

const DAY_MS = 86_400_000

type Query = { readonly sessionId?: string; readonly afterSeq?: number; readonly follow?: boolean }

/** What a log says, in words: numbers of events, `synced` with its number, `missed`; undefined at its end. */
function open(service: SessionRpc, query: Query = {}, options = service.as()) {
  const stream = service.client.streamSessionLog({ sessionId: 'ses_1', ...query }, options)[Symbol.asyncIterator]()
  const word = async (): Promise<unknown> => {
    const { value } = await stream.next()
    if (value?.message.case === 'event') return value.message.value.seq
    return value?.message.case === 'synced' ? `synced ${value.message.value.seq}` : value?.message.case
  }
  const words = async (count: number): Promise<unknown[]> => {
    const all: unknown[] = []
    while (all.length < count) all.push(await word())
    return all
  }
  return { word, words, leave: () => stream.return?.() }
}

/** A volatile event that is joined with no other. */
function delta(ordinal: number): VolatileEvent {
  return wordEvent(1, 'x', 'ses_1', { ...TEXT_PART, ordinal })
}

async function select(service: SessionRpc, count: number, sessionId = 'ses_1'): Promise<void> {
  for (let n = 0; n < count; n++) {
    await service.store.selectAgent('wrk_1', sessionId, `agent-${n}`)
  }
}

/** The numbers of the events of a session. */
async function numbers(service: SessionRpc): Promise<number[]> {
  const { events } = await service.store.listEvents('wrk_1', 'ses_1', { afterSeq: 0, limit: 1_000 })
  return events.map(({ seq }) => seq)
}

/** Whoever follows and does not read has fallen too far behind after that. */
async function overflow(service: SessionRpc): Promise<void> {
  const hurried = service.client.streamEvents({}, service.as())[Symbol.asyncIterator]()
  await hurried.next()
  for (let n = 0; n < 5_000; n += 100) {
    const deltas = Array.from({ length: 100 }, (_, i) => delta(n + i))
    service.hub.publish(deltas, 0)
    for (let i = 0; i < 100; i++) await hurried.next()
  }
  await hurried.return?.()
}

async function begin(connect: Parameters<typeof openSessionRpc>[0], count: number): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  for (const sessionId of ['ses_1', 'ses_2']) await service.client.createSession({ sessionId }, service.as())
  await select(service, count)
  return service
}

forEachTransport((name, connect) => {
  test(`the durable events after a number come, then the notice that the log is synced, then its end (${name})`, async () => {
    await using service = await begin(connect, 250)
    const all = await numbers(service)
    assert.deepEqual(await open(service).words(253), [...all, `synced ${all.at(-1)}`, undefined])
    const after = all[200] as number
    const rest = await open(service, { afterSeq: after }).words(51)
    assert.deepEqual(rest, [...all.slice(201), `synced ${all.at(-1)}`])
    assert.deepEqual(await open(service, { afterSeq: 999_999 }).words(254), [
      ...['missed', ...all],
      ...[`synced ${all.at(-1)}`, undefined],
    ])
  })

  test(`with follow, what is written later comes too, once and in order, and nothing of other sessions (${name})`, async () => {
    await using service = await begin(connect, 2)
    const before = await numbers(service)
    const log = open(service, { follow: true })
    assert.deepEqual(await log.words(4), [...before, `synced ${before.at(-1)}`])
    const later = log.words(30)
    await select(service, 5, 'ses_2')
    await select(service, 30)
    assert.deepEqual(await later, (await numbers(service)).slice(before.length))
    await log.leave()
  })

  test(`a log that is followed ends with its session (${name})`, async () => {
    await using service = await begin(connect, 0)
    const log = open(service, { follow: true })
    assert.deepEqual(await log.words(2), [1, 'synced 1'])
    await service.store.removeSession('wrk_1', 'ses_1')
    assert.deepEqual(await log.words(2), [2, undefined])
  })

  test(`a reader that is too slow for live events reads on from the store (${name})`, async () => {
    await using service = await begin(connect, 1)
    const log = open(service, { follow: true })
    await log.words(3)
    await overflow(service)
    await select(service, 150)
    assert.deepEqual(await log.words(150), (await numbers(service)).slice(2))
    await log.leave()
  })

  test(`a reader that was too slow ends when another session has the id meanwhile (${name})`, async () => {
    await using service = await begin(connect, 1)
    const log = open(service, { follow: true })
    await log.words(3)
    await overflow(service)
    await service.store.removeSession('wrk_1', 'ses_1')
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    await select(service, 3)
    const all = await numbers(service)
    const [word, end] = [await log.word(), await log.word()]
    // HTTP/2 takes some in advance, so that the reader is not too slow for the end of its session.
    assert.deepEqual([word, end], [name === 'local' ? undefined : (all[0] as number) - 1, undefined])
    assert.deepEqual(await open(service, { afterSeq: 2 }).words(5), [...all, `synced ${all.at(-1)}`])
  })

  test(`expired events are reported first, and what is kept follows (${name})`, async () => {
    await using service = await begin(connect, 3)
    service.clock.time += 2 * DAY_MS
    await select(service, 2)
    await service.store.expireEvents(service.clock.time - DAY_MS)
    const kept = await numbers(service)
    assert.equal(kept.length, 2)
    assert.deepEqual(await open(service).words(4), ['missed', ...kept, `synced ${kept.at(-1)}`])
    const [first, last] = kept as [number, number]
    assert.deepEqual(await open(service, { afterSeq: first }).words(2), [last, `synced ${last}`])
  })

  test(`a missing session, and an invalid number, are rejected (${name})`, async () => {
    await using service = await begin(connect, 0)
    const reasonFor = async (query: Query, options = service.as()): Promise<unknown> =>
      open(service, query, options)
        .word()
        .catch((error: unknown) => reasonOf(error)?.reason)
    assert.equal(await reasonFor({ sessionId: 'ses_unknown', follow: true }), 'SESSION_NOT_FOUND')
    assert.equal(await reasonFor({}, service.as('wrk_2')), 'SESSION_NOT_FOUND')
    assert.equal(await reasonFor({ afterSeq: -1 }), 'REQUEST_INVALID')
    assert.ok(!service.hub.hasListener('wrk_1'))
  })

  test(`a reader that hangs up in the middle leaves nothing open (${name})`, async () => {
    await using service = await begin(connect, 250)
    const gone = new AbortController()
    const log = open(service, { follow: true }, { ...service.as(), signal: gone.signal })
    await log.words(50)
    gone.abort()
    await assert.rejects(log.words(1_000), (error) => error instanceof ConnectError && error.code === Code.Canceled)
    while (service.hub.hasListener('wrk_1')) await new Promise((resolve) => setImmediate(resolve))
  })
})

test('a server that stops ends each followed log, with the reason', async () => {
  const service = await begin(connectHttp2, 1)
  const log = open(service, { follow: true })
  await log.words(3)
  const drained = service.server?.drain(3_600_000)
  await assert.rejects(log.word(), (error) => reasonOf(error)?.reason === 'SERVICE_CLOSING')
  await drained
  await service[Symbol.asyncDispose]()
})

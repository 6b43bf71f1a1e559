import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { closingReasons } from '#shared/rpc/server-reasons.ts'
import { gone, openStream, readUntil, selected } from '#test/support/event-stream.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { openPortico } from '#test/support/portico.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

type StreamSessionLog = NonNullable<NonNullable<Stubs['session']>['streamSessionLog']>
const PATH = '/api/experimental/session/ses_1/log'
const synced = { message: { case: 'synced', value: { seq: 9 } } } as const

interface Entry {
  readonly type: string
  readonly seq?: number
  readonly durable?: { readonly seq: number }
}

const entriesOf = (text: string): Entry[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)) as Entry] : []))

test('the log of a run has its durable events, each numbered, then log.synced, then ends', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  await portico.post('/api/session/ses_1/prompt', { text: 'Say hello' })
  await portico.post('/api/experimental/session/ses_1/wait', {})
  const answer = await portico.fetch(PATH)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const text = await answer.text()
  const entries = entriesOf(text)
  const events = entries.slice(0, -1)
  assert.equal(events[0]?.type, 'session.created')
  assert.equal(events.at(-1)?.type, 'session.execution.succeeded')
  const numbers = events.map(({ durable }) => durable?.seq)
  assert.deepEqual(
    text.match(/^id: .*$/gm),
    numbers.map((number) => `id: ${number}`),
  )
  assert.deepEqual(entries.at(-1), { type: 'log.synced', aggregateID: 'ses_1', seq: numbers.at(-1) })
  const after = await (await portico.fetch(`${PATH}?after=${numbers[2]}`)).text()
  assert.deepEqual(entriesOf(after), entries.slice(3))
  const header = { headers: { 'last-event-id': String(numbers[4]) } }
  assert.deepEqual(
    entriesOf(await (await portico.fetch(`${PATH}?after=${numbers[2]}`, header)).text()),
    entries.slice(5),
  )
})

test('a reader of a session that was removed and made anew misses nothing of the new one', async () => {
  await using portico = await openPortico()
  const talk = async (): Promise<Entry[]> => {
    await portico.post('/api/session', { id: 'ses_1' })
    await portico.post('/api/session/ses_1/prompt', { text: 'Say hello' })
    await portico.post('/api/experimental/session/ses_1/wait', {})
    return entriesOf(await (await portico.fetch(PATH)).text()).slice(0, -1)
  }
  const numbersOf = (events: Entry[]): number[] => events.map(({ durable }) => durable?.seq ?? 0)
  const first = await talk()
  const { data } = (await (await portico.fetch('/api/experimental/session/ses_1/export')).json()) as { data: object }
  await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
  const second = await talk()
  assert.ok(Math.min(...numbersOf(second)) > Math.max(...numbersOf(first)))
  const after = entriesOf(await (await portico.fetch(`${PATH}?after=${numbersOf(first)[9]}`)).text())
  assert.deepEqual(after.slice(0, -1), second)
  await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
  assert.equal((await portico.post('/api/experimental/session/import', data)).status, 200)
  const third = entriesOf(await (await portico.fetch(`${PATH}?after=${numbersOf(second).at(-1)}`)).text())
  assert.deepEqual([third[0]?.type, third.length], ['session.created', 2])
})

test('with follow, later events come after log.synced; only durable ones', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  await portico.post('/api/session', { id: 'ses_2' })
  const stream = await openStream(`${portico.url}${PATH}?follow=true`)
  for (const id of ['ses_2', 'ses_1']) await portico.post(`/api/session/${id}/prompt`, { text: 'Say hello' })
  const text = await readUntil(stream, (text) => text.includes('session.execution.succeeded'))
  stream.destroy()
  assert.ok(!text.includes('ses_2'))
  const types = entriesOf(text).map(({ type }) => type)
  assert.deepEqual(types.slice(0, 3), ['session.created', 'log.synced', 'session.inbox.enqueued'])
  assert.ok(!types.some((type) => type.endsWith('.delta')))
  const whole = entriesOf(await (await portico.fetch(PATH)).text())
  assert.deepEqual(
    entriesOf(text).filter(({ durable }) => durable !== undefined),
    whole.slice(0, -1),
  )
  await waitFor('no stream', () => portico.listener.lifecycle.openStreams === 0)
})

test('an event as long as a picture is read and encoded once for all followers of the log', async (t) => {
  await using portico = await openPortico()
  const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), randomBytes(100_000)])
  await writeFile(join(portico.project, 'picture.png'), picture)
  await portico.post('/api/session', { id: 'ses_1', model: { id: 'echo', providerID: 'portico' } })
  const streams = await Promise.all([1, 2, 3].map(() => openStream(`${portico.url}${PATH}?follow=true`)))
  const encode = t.mock.method(Buffer, 'from')
  await portico.post('/api/session/ses_1/prompt', { text: '/tool read {"path":"picture.png"}' })
  const texts = await Promise.all(
    streams.map((stream) => readUntil(stream, (text) => text.includes('session.execution.succeeded'))),
  )
  for (const text of texts) assert.ok(text.includes(picture.toString('base64')))
  assert.deepEqual(texts.slice(1), [texts[0], texts[0]])
  const isLong = (text: unknown) => typeof text === 'string' && text.startsWith('id: ') && text.length > 65_536
  const encoded = encode.mock.calls.filter(({ arguments: [text] }) => isLong(text))
  assert.equal(encoded.length, 1)
  for (const stream of streams) stream.destroy()
  await waitFor('no stream', () => portico.listener.lifecycle.openStreams === 0)
})

test('refuses an invalid session, number or boolean', async () => {
  await using portico = await openPortico()
  const refused = async (path: string): Promise<unknown[]> => {
    const answer = await portico.fetch(path)
    const { _tag, kind } = (await answer.json()) as Record<string, unknown>
    return [answer.status, _tag, kind]
  }
  const query = [400, 'InvalidRequestError', 'Query']
  for (const wrong of ['after=-1', 'after=1.5', 'after=x', 'follow=1', 'follow=yes', `after=${'9'.repeat(16)}`]) {
    assert.deepEqual(await refused(`${PATH}?${wrong}`), query, wrong)
  }
  assert.deepEqual((await refused(PATH)).slice(0, 2), [404, 'SessionNotFoundError'])
  assert.deepEqual((await refused(PATH.replace('ses_1', 'abc'))).slice(0, 2), [400, 'InvalidRequestError'])
})

forEachTransport((name, connect) => {
  const open = (streamSessionLog: StreamSessionLog) =>
    openFacade({ reasons: closingReasons, session: { streamSessionLog } }, {}, connect)

  test(`${name}: each message is one frame, and expired events are a resync`, async () => {
    let asked: unknown
    await using facade = await open(async function* (request) {
      asked = [request.sessionId, request.afterSeq, request.follow]
      yield { message: { case: 'missed', value: {} } }
      yield selected(9)
      yield synced
    })
    const text = await (await facade.fetch(`${PATH}?after=4&follow=false`)).text()
    assert.deepEqual(asked, ['ses_1', 4, false])
    const [resync, event, last, rest] = text.split('\n\n')
    assert.match(resync ?? '', /^data: \{"id":"evt_[^"]+","created":\d+,"type":"server.resync","data":\{\}\}$/)
    assert.match(event ?? '', /^id: 9\ndata: \{"id":"evt_9",.*"durable":\{"aggregateID":"ses_1","seq":9,"version":1\}/)
    assert.deepEqual([last, rest], ['data: {"type":"log.synced","aggregateID":"ses_1","seq":9}', ''])
  })

  test(`${name}: a client that hangs up in the middle ends the RPC`, async () => {
    const ended = Promise.withResolvers<void>()
    await using facade = await open(async function* (_, context) {
      context.signal.addEventListener('abort', () => ended.resolve())
      yield synced
      await gone(context)
    })
    const stream = await openStream(`${facade.url}${PATH}?follow=true`)
    await readUntil(stream, (text) => text.includes('log.synced'))
    stream.destroy()
    await ended.promise
    await waitFor('no stream', () => facade.listener.lifecycle.openStreams === 0)
  })

  test(`${name}: a service that stops ends the log, which says so and when to come back`, async () => {
    await using facade = await open(async function* () {
      yield synced
      throw new Rejection('SERVICE_CLOSING')
    })
    const text = await (await facade.fetch(`${PATH}?follow=true`)).text()
    assert.match(
      text.split('\n\n').at(-2) ?? '',
      /^retry: 1000\ndata: \{.*"type":"server.error".*"ServiceUnavailableError"/,
    )
  })
})

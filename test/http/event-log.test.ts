import assert from 'node:assert/strict'
import test from 'node:test'
import { EventSource } from 'eventsource'
import { openPortico, type Portico } from '#test/support/portico.ts'

interface Event {
  readonly type: string
  readonly durable?: { readonly aggregateID: string; readonly seq: number }
  readonly data: Record<string, unknown>
}

/** Collects events until one passes the test. */
function collect(source: EventSource, enough: (event: Event, all: Event[]) => boolean): Promise<Event[]> {
  const all: Event[] = []
  return new Promise((resolve) => {
    const listener = ({ data }: MessageEvent): void => {
      const event = JSON.parse(data) as Event
      all.push(event)
      if (!enough(event, all)) return
      source.removeEventListener('message', listener)
      resolve(all)
    }
    source.addEventListener('message', listener)
  })
}

const create = async (portico: Portico): Promise<string> => {
  const answer = await portico.post('/api/session', {})
  return ((await answer.json()) as { data: { id: string } }).data.id
}

test('a run is reported from its admission to its end, durable events numbered in order', async () => {
  await using portico = await openPortico()
  const source = new EventSource(`${portico.url}/api/event`)
  await collect(source, ({ type }) => type === 'server.connected')
  const collected = collect(source, ({ type }) => type === 'session.idle')
  const id = await create(portico)
  await portico.post(`/api/session/${id}/prompt`, { text: 'Say hello' })
  const events = await collected
  source.close()
  const types = events.map(({ type }) => type)
  const expected = [
    'session.created',
    'session.inbox.enqueued',
    'session.execution.started',
    'session.status',
    'session.inbox.delivered',
    'session.step.started',
    'session.text.started',
    'session.text.delta',
    'session.text.ended',
    'session.step.ended',
    'session.usage.updated',
    'session.execution.succeeded',
    'session.status',
    'session.idle',
  ]
  for (const type of expected) assert.ok(types.includes(type), type)
  const states = events.flatMap(({ type, data }) => (type === 'session.status' ? [data.status] : []))
  assert.deepEqual(states, [{ type: 'busy' }, { type: 'idle' }])
  const { cost, tokens } = ((await (await portico.fetch(`/api/session/${id}`)).json()) as { data: Event['data'] }).data
  const used = events.findLast(({ type }) => type === 'session.usage.updated')?.data
  assert.deepEqual(used, { sessionID: id, cost, tokens })
  const numbers = events.flatMap(({ durable }) => (durable === undefined ? [] : [durable.seq]))
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(numbers).size, numbers.length)
  // On a busy machine, the catalog may be too slow to be there from the start.
  for (const { type, data } of events) if (type !== 'server.resync') assert.equal(data.sessionID, id, type)
})

test('a client that reconnects with the last id gets all later events once', async () => {
  await using portico = await openPortico()
  const first = new EventSource(`${portico.url}/api/event`)
  await collect(first, ({ type }) => type === 'server.connected')
  let last = ''
  first.addEventListener('message', ({ lastEventId }) => {
    last = lastEventId
  })
  const seen = collect(first, (_, all) => all.length === 3)
  const ids = [await create(portico), await create(portico), await create(portico)]
  const before = await seen
  first.close()
  while (ids.length < 8) ids.push(await create(portico))
  const second = new EventSource(`${portico.url}/api/event?after=${encodeURIComponent(last)}`)
  const after = await collect(second, (_, all) => all.filter(({ durable }) => durable !== undefined).length === 5)
  second.close()
  const sessions = [...before, ...after].flatMap(({ durable }) => (durable === undefined ? [] : [durable.aggregateID]))
  assert.deepEqual(sessions, ids)
})

test('an unknown position gets a resync, then live events', async () => {
  await using portico = await openPortico()
  const source = new EventSource(`${portico.url}/api/event?after=unknown`)
  const events = collect(source, ({ type }) => type === 'session.created')
  await new Promise((resolve) => source.addEventListener('open', resolve))
  await create(portico)
  const types = (await events).map(({ type }) => type)
  source.close()
  assert.deepEqual(types, ['server.connected', 'server.resync', 'session.created'])
})

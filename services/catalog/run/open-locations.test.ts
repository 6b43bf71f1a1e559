import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import { locationAt } from '#test/support/location.ts'
import { silentLogger } from '#test/support/transports.ts'
import type { Plugins } from '../ports/plugins.ts'
import type { Offer, Source } from '../ports/source.ts'
import type { Sources } from './generation.ts'
import { OpenLocations } from './open-locations.ts'

/** Locations whose agents are a number that the test sets; the test controls their timers. */
function begin(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const world = {
    now: 0,
    offered: 1,
    open: new Map<string, () => void>(),
    /** What reading waits for. */
    reading: async (offer: number) => offer,
  }
  // biome-ignore lint/suspicious/noExplicitAny: only the digest of an offer matters here.
  const offer = (digest: number): Offer<any> => ({ value: digest, digest: String(digest) })
  const sources: Sources = {
    agents: {
      open({ directory }, changed) {
        world.open.set(directory, changed)
        const read = async () => offer(await world.reading(world.offered))
        return { read, [Symbol.dispose]: () => void world.open.delete(directory) }
      },
    },
    skills: constant({ value: [], digest: '' }),
    instructions: constant(offer(0)),
    plugins: constant({ value: { emit() {} } as unknown as Plugins, digest: '' }),
    tools: constant(offer(0)),
  }
  const skillTools = () => assert.fail('there are no skills')
  const clock = { now: () => world.now, monotonic: () => world.now }
  const locations = new OpenLocations({ sources, skillTools, idleMs: 5 * 60_000, clock, logger: silentLogger })
  const later = (milliseconds: number): void => {
    world.now += milliseconds
    t.mock.timers.tick(milliseconds)
  }
  const events: CatalogEvent[] = []
  const over = new AbortController()
  const listening = (async () => {
    for await (const item of locations.events.subscribe(() => true, over.signal)) {
      if (item.case === 'event') events.push(item.value)
    }
  })()
  t.after(async () => {
    over.abort()
    await listening
  })
  return { world, locations, later, events }
}

const constant = <T>(offer: Offer<T>): Source<T> => ({
  open: () => ({ read: () => Promise.resolve(offer), [Symbol.dispose]() {} }),
})

const at = (directory: string, projectId?: string) => locationAt(directory, directory, projectId)

/** What a reload finds. */
const look = async (directory: string) => at(directory)

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a directory is opened once, and its generation stays the same while it offers the same', async (t) => {
  const { world, locations } = begin(t)
  const open = locations.open(at('/a'))
  assert.equal(locations.open(at('/a')), open)
  const { id } = await open.generation()
  assert.equal((await open.generation()).id, id)
  assert.equal((await locations.open(at('/b')).generation()).id, id, 'also in another one that offers the same')
  world.offered = 2
  const other = await open.generation()
  assert.notEqual(other.id, id)
  assert.equal((await open.generation(id)).agents as unknown, 1, 'who has named the older one is answered from it')
  assert.equal((await open.generation(other.id)).agents as unknown, 2)
  world.offered = 1
  assert.equal((await open.generation()).id, id)
})

test('a generation that is no longer kept, or never was, is LOCATION_GENERATION_GONE', async (t) => {
  const { world, locations } = begin(t)
  const open = locations.open(at('/a'))
  const ids: string[] = []
  for (world.offered = 1; world.offered <= 17; world.offered++) ids.push((await open.generation()).id)
  world.offered = 17
  const [oldest = '', ...kept] = ids
  for (const id of kept) assert.equal((await open.generation(id)).id, id)
  const reason = 'LOCATION_GENERATION_GONE'
  // The most recently used one is kept longest.
  await open.generation(ids[1])
  world.offered = 18
  await open.generation()
  assert.equal((await open.generation(ids[1])).id, ids[1])
  for (const generation of [oldest, ids[2] ?? '', 'x']) {
    await assert.rejects(open.generation(generation), { reason, metadata: { directory: '/a', generation } })
  }
})

test('a generation in use is kept, however often its sources change', async (t) => {
  const { world, locations, later, events } = begin(t)
  const open = locations.open(at('/a'))
  const { id } = await open.generation()
  for (let changes = 1; changes <= 20; changes++) {
    world.offered++
    world.open.get('/a')?.()
    later(100)
    while (events.length < changes) await turn()
  }
  assert.equal((await open.generation(id)).id, id)
})

test('a generation outlives a closed location, and a process, that offers the same again', async (t) => {
  const { locations, later } = begin(t)
  const { id } = await locations.open(at('/a')).generation()
  later(10 * 60_000)
  assert.equal(locations.size, 0)
  assert.equal((await locations.open(at('/a')).generation(id)).id, id)
})

test('five minutes after its last use a location is closed and its sources are disposed of', async (t) => {
  const { world, locations, later } = begin(t)
  locations.open(at('/a'))
  locations.open(at('/b'))
  later(4 * 60_000)
  locations.open(at('/b'))
  later(2 * 60_000)
  assert.deepEqual([...world.open.keys()], ['/b'])
  later(4 * 60_000)
  assert.deepEqual([...world.open.keys()], [])
})

test('a location with a call in progress is not closed until five minutes after the end of the call', async (t) => {
  const { world, locations, later } = begin(t)
  const held = locations.open(at('/a')).use()
  later(60 * 60_000)
  for (let i = 0; i < 3_000; i++) locations.open(at(`/${i}`))
  assert.ok(world.open.has('/a'))
  held[Symbol.dispose]()
  later(4 * 60_000)
  assert.ok(world.open.has('/a'))
  later(60 * 60_000)
  assert.equal(world.open.size, 0)
})

test('a location whose sources are being read is not closed', async (t) => {
  const { world, locations, later } = begin(t)
  const read = Promise.withResolvers<number>()
  world.reading = () => read.promise
  const reading = locations.open(at('/a')).generation()
  later(60 * 60_000)
  assert.ok(world.open.has('/a'))
  read.resolve(1)
  await reading
  later(60 * 60_000)
  assert.equal(world.open.size, 0)
})

test('closes the location that was not used for longest when more than 1,024 are open', async (t) => {
  const { world, locations } = begin(t)
  for (let i = 0; i < 1_024; i++) locations.open(at(`/${i}`))
  locations.open(at('/0'))
  locations.open(at('/more'))
  assert.equal(world.open.size, 1_024)
  assert.deepEqual([world.open.has('/0'), world.open.has('/1')], [true, false])
})

test('a signal of a source reloads after 100 ms, once for many, and what changed is one event', async (t) => {
  const { world, locations, later, events } = begin(t)
  const open = locations.open(at('/a'))
  await open.generation()
  let read = 0
  world.reading = async (offer) => {
    read++
    return offer
  }
  world.offered = 2
  for (let i = 0; i < 9; i++) {
    world.open.get('/a')?.()
    later(10)
  }
  await turn()
  assert.equal(read, 0)
  later(10)
  await turn()
  assert.equal(read, 1)
  assert.deepEqual(
    events.map(({ event, directory }) => [event.case, directory]),
    [['agentsUpdated', '/a']],
  )
  world.open.get('/a')?.()
  later(100)
  await turn()
  assert.deepEqual([read, events.length], [2, 1], 'nothing changed')
})

test('a location that takes its time to reload does not hold up the others', async (t) => {
  const { world, locations, later, events } = begin(t)
  for (const directory of ['/a', '/b']) await locations.open(at(directory)).generation()
  world.offered = 2
  let read = 0
  world.reading = async (offer) => (++read === 1 ? new Promise(() => {}) : offer)
  for (const directory of ['/a', '/b']) world.open.get(directory)?.()
  later(100)
  await turn()
  assert.equal(read, 1)
  later(50)
  await turn()
  assert.deepEqual(
    events.map(({ directory }) => directory),
    ['/b'],
  )
})

test('a reload that fails is tried again at the next call', async (t) => {
  const { world, locations, later, events } = begin(t)
  const open = locations.open(at('/a'))
  await open.generation()
  world.offered = 2
  const read = world.reading
  world.reading = () => Promise.reject(new Error('no descriptors'))
  world.open.get('/a')?.()
  later(100)
  await turn()
  await assert.rejects(open.generation(), /no descriptors/)
  world.reading = read
  await open.generation()
  await turn()
  assert.equal(events.length, 1)
})

test('a change that happens while a location is closed is an event when it is opened again', async (t) => {
  const { world, locations, later, events } = begin(t)
  await locations.open(at('/a')).generation()
  await locations.open(at('/b')).generation()
  later(10 * 60_000)
  await locations.open(at('/b')).generation()
  world.offered = 2
  await locations.open(at('/a')).generation()
  await turn()
  assert.deepEqual(
    events.map(({ directory }) => directory),
    ['/a'],
  )
})

test('the later of two overlapping readings counts', async (t) => {
  const { world, locations, events } = begin(t)
  const open = locations.open(at('/a'))
  await open.generation()
  const slow = Promise.withResolvers<void>()
  world.reading = async (offer) => {
    if (offer === 1) await slow.promise
    return offer
  }
  const early = open.generation()
  world.offered = 2
  const { id } = await open.generation()
  slow.resolve()
  await early
  await turn()
  assert.equal(events.length, 1, 'the agents did not come back')
  assert.equal((await open.generation()).id, id)
})

test('a directory that belongs to another project is opened anew', async (t) => {
  const { world, locations } = begin(t)
  const open = locations.open(at('/a'))
  const signal = world.open.get('/a')
  assert.notEqual(locations.open(at('/a', 'f'.repeat(40))), open)
  assert.notEqual(world.open.get('/a'), signal)
  assert.equal(locations.size, 1)
  locations[Symbol.dispose]()
  assert.equal(world.open.size, 0)
})

test('a reload rebuilds all wanted locations at the same time, and reports each', async (t) => {
  const { world, locations, events } = begin(t)
  for (const directory of ['/a', '/b', '/hidden']) await locations.open(at(directory)).generation()
  const [before, hidden] = [locations.open(at('/a')), locations.open(at('/hidden'))]
  const together = Promise.withResolvers<void>()
  let reading = 0
  world.reading = async (offer) => {
    if (++reading === 2) together.resolve()
    await together.promise
    return offer
  }
  world.offered = 2
  assert.deepEqual(await locations.reload((directory) => directory !== '/hidden', look), [])
  await turn()
  const seen = events.map(({ event, directory }) => `${event.case} ${directory}`)
  assert.deepEqual(seen.sort(), [
    ...['agentsUpdated /a', 'agentsUpdated /b', 'locationShutdown /a', 'locationShutdown /b'],
  ])
  assert.notEqual(locations.open(at('/a')), before)
  assert.equal(locations.open(at('/hidden')), hidden)
  assert.equal((await locations.open(at('/a')).generation()).agents as unknown, 2)
})

test('a location that cannot be rebuilt stays as it was, and all that failed are named', async (t) => {
  const { world, locations, events } = begin(t)
  const open = locations.open(at('/a'))
  const { id } = await open.generation()
  await locations.open(at('/b')).generation()
  const read = world.reading
  let turns = 0
  world.reading = (offer) => (turns++ === 0 ? Promise.reject(new Error('no descriptors')) : read(offer))
  world.offered = 2
  assert.deepEqual(await locations.reload(() => true, look), [{ directory: '/a', problem: 'no descriptors' }])
  assert.equal(locations.open(at('/a')), open)
  assert.equal((await open.generation(id)).agents as unknown, 1)
  await turn()
  assert.equal(events.filter(({ event }) => event.case === 'locationShutdown').length, 2)
})

test('a call that goes on while its location is reloaded keeps what it works with until it ends', async (t) => {
  const { locations } = begin(t)
  const open = locations.open(at('/a'))
  await open.generation()
  let disposed = 0
  const dispose = open[Symbol.dispose].bind(open)
  t.mock.method(open, Symbol.dispose, () => {
    disposed++
    dispose()
  })
  const call = open.use()
  await locations.reload(() => true, look)
  assert.equal(disposed, 0)
  call[Symbol.dispose]()
  assert.equal(disposed, 1)
})

test('while a call goes on in a location that was reloaded, a change is one event', async (t) => {
  const { world, locations, later, events } = begin(t)
  const open = locations.open(at('/a'))
  await open.generation()
  const former = world.open.get('/a')
  using _ = open.use()
  await locations.reload(() => true, look)
  world.offered = 2
  for (const changed of [former, world.open.get('/a')]) changed?.()
  later(100)
  await turn()
  assert.deepEqual(
    events.map(({ event }) => event.case),
    ['locationShutdown', 'agentsUpdated'],
  )
})

test('a location that is closed, or reloaded again, while it is reloaded is built once', async (t) => {
  const { world, locations } = begin(t)
  await locations.open(at('/a')).generation()
  await Promise.all([locations.reload(() => true, look), locations.reload(() => true, look)])
  assert.equal(locations.size, 1)
  const slow = Promise.withResolvers<void>()
  world.reading = async (offer) => {
    await slow.promise
    return offer
  }
  const reloading = locations.reload(() => true, look)
  locations[Symbol.dispose]()
  slow.resolve()
  assert.deepEqual(await reloading, [])
  assert.equal(locations.size, 0)
})

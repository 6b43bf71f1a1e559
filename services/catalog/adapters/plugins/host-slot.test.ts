import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessPlaces } from '#services/catalog/run/process-places.ts'
import { HostSlot } from './host-slot.ts'
import type { HostEnd, PluginHost } from './plugin-host.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A fake process: `end` makes it end by itself, and its disposal takes until `disposed` is called. */
function fakeHost() {
  const ended = Promise.withResolvers<HostEnd>()
  const gone = Promise.withResolvers<void>()
  let ending = false
  const dispose = async () => {
    ending = true
    await gone.promise
  }
  const host = { ended: ended.promise, [Symbol.asyncDispose]: dispose } as unknown as PluginHost
  return { host, end: ended.resolve, disposed: gone.resolve, isEnding: () => ending }
}

function begin({ places = new ProcessPlaces(2, 2), failures = 0 } = {}) {
  const started: ReturnType<typeof fakeHost>[] = []
  const ends: [PluginHost, HostEnd][] = []
  let left = failures
  const slot = new HostSlot({
    places,
    start: async () => {
      if (left-- > 0) throw new Error('The system cannot start a process now: EAGAIN')
      const fake = fakeHost()
      started.push(fake)
      return fake.host
    },
    onEnd: (...end) => void ends.push(end),
  })
  return { slot, started, ends, places }
}

test('concurrent users share one process, and the next one after its end uses another', async () => {
  const { slot, started, ends } = begin()
  const uses = await Promise.all([slot.use(), slot.use()])
  const [first] = started
  assert.deepEqual(new Set(uses.map(({ host }) => host)), new Set([first?.host]))
  first?.end({ code: 0, signal: null })
  await turn()
  assert.deepEqual(ends, [[first?.host, { code: 0, signal: null }]])
  const next = await slot.use()
  assert.equal(next.host, started[1]?.host)
  for (const use of [...uses, next]) use[Symbol.dispose]()
  for (const { disposed } of started) disposed()
  await slot[Symbol.asyncDispose]()
  await assert.rejects(slot.use(), /The location is closed/)
})

test('ends a retired process with its last use', async () => {
  const { slot, started } = begin()
  const uses = [await slot.use(), await slot.use()]
  slot.retire(uses[0]?.host as PluginHost)
  uses[0]?.[Symbol.dispose]()
  assert.equal(started[0]?.isEnding(), false)
  uses[1]?.[Symbol.dispose]()
  assert.equal(started[0]?.isEnding(), true)
  started[0]?.disposed()
  await slot[Symbol.asyncDispose]()
})

test('a place that is wanted is taken from a process that is ending already, not from its successor', async () => {
  const { slot, started, places } = begin()
  const former = await slot.use()
  former[Symbol.dispose]()
  slot.retire(former.host)
  using _ = await slot.use()
  const wanted = places.take(new AbortController().signal, () => {})
  await turn()
  assert.deepEqual(
    started.map(({ isEnding }) => isEnding()),
    [true, false],
  )
  started[0]?.disposed()
  ;(await wanted)[Symbol.dispose]()
  started[1]?.disposed()
  await slot[Symbol.asyncDispose]()
})

test('a process that the system cannot start is retried, later each time, and the reason is reported', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { slot, started } = begin({ failures: 2 })
  const using = slot.use()
  for (const milliseconds of [1_000, 2_000]) {
    await turn()
    assert.match(slot.problem ?? '', /EAGAIN/)
    t.mock.timers.tick(milliseconds - 1)
    await turn()
    assert.equal(started.length, 0)
    t.mock.timers.tick(1)
  }
  const use = await using
  assert.deepEqual([started.length, slot.problem], [1, undefined])
  use[Symbol.dispose]()
  started[0]?.disposed()
  await slot[Symbol.asyncDispose]()

  const none = begin({ failures: Number.POSITIVE_INFINITY })
  const never = none.slot.use()
  await turn()
  await Promise.all([assert.rejects(never, /The location is closed/), none.slot[Symbol.asyncDispose]()])
})

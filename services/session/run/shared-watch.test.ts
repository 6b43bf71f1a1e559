import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { waitFor } from '#test/support/wait-until.ts'
import { SharedWatch } from './shared-watch.ts'

const HOUR_MS = 3_600_000
const session = { workspace: 'wrk_1', sessionId: 'ses_1' }
const never = new AbortController().signal
const ifIdle = (state: string) => (state === 'idle' ? state : undefined)

/** A state that is read when the test lets each read go on; it is what it was when the read began. */
function open() {
  const reads: { readonly begun: string; readonly end: PromiseWithResolvers<void> }[] = []
  const listeners = new Set<() => void>()
  let state = 'busy'
  return {
    reads,
    listeners,
    change(next: string): void {
      state = next
      for (const notify of listeners) notify()
    },
    /** Ends the read of that number, once it has begun. */
    async end(number: number, error?: Error): Promise<void> {
      await waitFor(`read ${number}`, () => reads.length >= number)
      const { end } = reads[number - 1] as (typeof reads)[number]
      if (error === undefined) end.resolve()
      else end.reject(error)
    },
    watch: new SharedWatch({
      pollMs: HOUR_MS,
      read: async (): Promise<string> => {
        const read = { begun: state, end: Promise.withResolvers<void>() }
        reads.push(read)
        await read.end.promise
        return read.begun
      },
      watch: (_, notify) => {
        listeners.add(notify)
        return { [Symbol.dispose]: () => listeners.delete(notify) }
      },
    }),
  }
}

test('each change is read once, however many callers wait', async () => {
  const { watch, reads, listeners, change, end } = open()
  const waiting = Array.from({ length: 1_000 }, () => watch.until(session, never, ifIdle))
  await end(1)
  await setImmediate()
  change('busy')
  await end(2)
  await setImmediate()
  change('idle')
  await end(3)
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['idle']))
  assert.deepEqual([reads.length, listeners.size], [3, 0])
})

test('a read that began before a change, or before a waiter came, does not count for it', async () => {
  const { watch, reads, change, end } = open()
  const first = watch.until(session, never, ifIdle)
  await waitFor('the first read', () => reads.length === 1)
  change('idle')
  await end(1)
  await waitFor('the read of the change', () => reads.length === 2)
  change('busy')
  const late = watch.until(session, never, ifIdle)
  await end(2)
  assert.equal(await first, 'idle')
  await end(3)
  await setImmediate()
  change('idle')
  await end(4)
  assert.equal(await late, 'idle')
  assert.deepEqual(
    reads.map(({ begun }) => begun),
    ['busy', 'idle', 'busy', 'idle'],
  )
})

test('a waiter that leaves is gone at once, and the others go on waiting', async () => {
  const { watch, reads, change, end } = open()
  const gone = new AbortController()
  const leaves = watch.until(session, gone.signal, ifIdle)
  const stays = watch.until(session, never, ifIdle)
  await waitFor('the first read', () => reads.length === 1)
  gone.abort(new Error('gone'))
  await assert.rejects(leaves, { message: 'gone' })
  change('idle')
  await end(1)
  await end(2)
  assert.equal(await stays, 'idle')
})

test('a failing read fails for all its waiters, and is repeated for the next', async () => {
  const { watch, listeners, change, end } = open()
  const fails = [1, 2, 3].map(() => assert.rejects(watch.until(session, never, ifIdle), { message: 'away' }))
  await end(1, new Error('away'))
  await Promise.all(fails)
  assert.equal(listeners.size, 0)
  change('idle')
  const again = watch.until(session, never, ifIdle)
  await end(2)
  assert.equal(await again, 'idle')
})

test('reads the session again after a while even without a notice of change', async () => {
  const states = ['busy', 'busy', 'idle']
  const watch = new SharedWatch({
    pollMs: 1,
    read: async () => states.shift() as string,
    watch: () => ({ [Symbol.dispose]: () => {} }),
  })
  assert.equal(await watch.until(session, never, ifIdle), 'idle')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Retry } from './retry.ts'

test('retries a repeated failure later each time, up to five minutes, and starts over after a success', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const retry = new Retry()
  let tries = 0
  const fail = () => retry.failed(() => void tries++)
  const waits: number[] = []
  const hopeless: boolean[] = []
  for (let i = 0; i < 11; i++) {
    const wait = fail()
    waits.push(wait / 1_000)
    hopeless.push(retry.hopeless)
    t.mock.timers.tick(wait - 1)
    assert.deepEqual([tries, retry.pending], [i, true])
    t.mock.timers.tick(1)
    assert.deepEqual([tries, retry.pending, retry.hopeless], [i + 1, false, false])
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  assert.deepEqual(hopeless, [false, false, false, ...Array(8).fill(true)])
  retry.forget()
  assert.equal(fail(), 1_000)
  retry[Symbol.dispose]()
  t.mock.timers.tick(1_000_000)
  assert.equal(tries, 11)
})

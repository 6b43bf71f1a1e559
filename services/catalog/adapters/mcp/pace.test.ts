import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

for (const [messages, bytes] of [
  [1, 0],
  [5_000, 0],
  [0, 4 << 20],
  [0, 1 << 10],
  [1, 100],
] as const) {
  test(`a limited number of messages passes in a second when each pass has ${messages} messages and ${bytes} bytes`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const pace = new Pace()
    let [paused, passes] = [0, 0]
    while (paused < 1_000 && passes < 10_000) {
      let isOver = false
      void pace.pass(messages, bytes).then(() => {
        isOver = true
      })
      passes++
      await new Promise(setImmediate)
      for (; !isOver; paused++) {
        t.mock.timers.tick(1)
        await new Promise(setImmediate)
      }
    }
    assert.ok(passes * messages <= 5_100 && passes * bytes <= 4.3e6, `${passes} times`)
  })
}

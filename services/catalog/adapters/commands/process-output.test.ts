import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { logOutput } from './process-output.ts'

test('a part of the output is logged each minute, with a note that the rest is left out', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const output = new PassThrough()
  const logged: string[] = []
  logOutput(output, (text) => void logged.push(text))
  const print = (bytes: number): string[] => {
    output.emit('data', Buffer.alloc(bytes, 'x'))
    return logged.splice(0)
  }
  assert.deepEqual(print(3), ['xxx'])
  assert.deepEqual(print(5_000), [`${'x'.repeat(4_096)}… (904 bytes are left out)`])
  assert.equal(print(60_000).length, 1)
  assert.deepEqual(print(1_000), ['(What is printed in the rest of this minute is left out.)'])
  assert.deepEqual(print(1_000), [])
  now = 60_000
  assert.deepEqual(print(3), ['xxx'])
})

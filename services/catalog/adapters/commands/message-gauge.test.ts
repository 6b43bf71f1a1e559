import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineReader } from './line-reader.ts'
import { MessageError, MessageGauge } from './message-gauge.ts'

/** Reads a line that arrives byte by byte. */
function read(line: string): string[] {
  const reader = new LineReader()
  return [...Buffer.from(`${line}\n`)].flatMap((byte) => reader.push(Uint8Array.of(byte)))
}

const list = (members: number): string => `[${Array(members).fill('1').join()}]`
const deep = (levels: number): string => '[{"a":'.repeat(levels / 2) + 1 + '}]'.repeat(levels / 2)

test('a message of too many members or levels is refused before it is whole, wherever it is cut', () => {
  assert.deepEqual(read(list(100_000)), [list(100_000)])
  assert.throws(() => read(list(100_001).slice(0, -1)), MessageError)
  assert.deepEqual(read(deep(64)), [deep(64)])
  assert.throws(() => read('['.repeat(65)), /more than 100000 members or 64 levels/)
})

test('a message of too many levels is refused even if it arrives as a whole', () => {
  const push = (line: string): string[] => new LineReader().push(Buffer.from(`${line}\n`))
  assert.deepEqual(push(deep(64)), [deep(64)])
  assert.throws(() => push(deep(66)), /more than 100000 members or 64 levels/)
})

test('a message may have at most 20,000 different names of members; repeated ones count once', () => {
  const named = (names: number) => `[${Array.from({ length: 2 * names }, (_, i) => `{"\\"${i >> 1}" : ":"}`)}]`
  assert.deepEqual(read(named(20_000)), [named(20_000)])
  assert.throws(() => read(named(20_001).slice(0, -1)), /more than 20000 different names/)
})

test('brackets and names within a text are not counted, and each message is counted from zero', () => {
  const quoted = JSON.stringify({ a: `\\"${'[{,'.repeat(50_000)}\\` })
  assert.deepEqual(read(quoted), [quoted])
  const reader = new LineReader()
  const line = Buffer.from(`"not closed\n${list(60_000)}\n`)
  for (let i = 0; i < 3; i++) assert.equal(reader.push(line).length, 2)
})

test('a line break ends a text even after a backslash, so that nothing behind it is hidden', () => {
  for (const end of ['\n', '\r']) {
    const gauge = new MessageGauge()
    gauge.add(Buffer.from(`"\\${end}`))
    assert.throws(() => gauge.add(Buffer.from('['.repeat(65))), MessageError)
  }
})

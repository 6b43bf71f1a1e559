import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { JSON_LIMITS, JsonGauge } from './json-gauge.ts'

const { depth, members, width, scalar } = JSON_LIMITS

/** Counts a text that arrives in chunks of some size. */
function gauge(text: string | Buffer, size = 65_536): number {
  const bytes = Buffer.from(text)
  const counted = new JsonGauge()
  for (let at = 0; at < bytes.length; at += size) counted.add(bytes.subarray(at, at + size))
  return counted.members
}

const membersOf = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, inner) => sum + 1 + membersOf(inner), 0)

const refused = (text: string, problem: string): void =>
  assert.throws(() => gauge(text), reasonOfRejection('BODY_MALFORMED', { problem }))

test('counts the members of any JSON, however it is spaced and cut into chunks', () => {
  const quotes = fc.stringMatching(/^[a"\\{}[\],: 😀]{0,80}$/u)
  const value = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 6 })
  const text = fc.oneof(value, fc.array(fc.dictionary(quotes, quotes)), fc.array(quotes))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 90 }), fc.constantFrom(0, 1, 3), (json, size, space) => {
      const spaced = JSON.stringify(json, null, space)
      assert.equal(gauge(spaced, size), membersOf(JSON.parse(spaced)))
    }),
    { numRuns: 2_000 },
  )
})

test('long strings of quotes, backslashes and brackets are strings, wherever a chunk ends in them', () => {
  for (const unit of ['\\"', '\\\\', '[{,', '\\\\\\"', `${'x'.repeat(63)}\\"`, '\\u0022', 'ü']) {
    const text = `["${unit.repeat(5_000)}", "b", {"${unit.repeat(300)}": 1}]`
    for (const size of [1, 7, 31, 32, 33, 64, 1_000, 100_000]) assert.equal(gauge(text, size), 4, `${unit} by ${size}`)
  }
})

test('accepts what is exactly at a limit, and nothing beyond', () => {
  assert.equal(gauge(`[${'0,'.repeat(members - 1)}0]`), members)
  refused(`[${'0,'.repeat(members)}0]`, `the JSON has more than ${members} members and items`)
  refused(`[${'[],'.repeat(members)}[]]`, `the JSON has more than ${members} members and items`)
  refused(`[${'{"a":1},'.repeat(members / 2)}{}]`, `the JSON has more than ${members} members and items`)
  assert.equal(gauge('['.repeat(depth) + ']'.repeat(depth)), depth - 1)
  refused('['.repeat(depth + 1), `the JSON is nested more than ${depth} levels deep`)
  refused('{"a":'.repeat(depth + 1), `the JSON is nested more than ${depth} levels deep`)
  const wide = (count: number): string => `[{${Array.from({ length: count }, (_, i) => `"${i}":[0]`).join()}}]`
  assert.equal(gauge(wide(width)), 1 + 2 * width)
  refused(wide(width + 1), `the JSON has an object with more than ${width} members`)
})

test('malformed JSON is never counted as less than it opens and lists', () => {
  refused(']'.repeat(200) + '['.repeat(depth + 1), `the JSON is nested more than ${depth} levels deep`)
  refused(','.repeat(members + 1), `the JSON has an object with more than ${width} members`)
  refused(
    `{${'"a" '.repeat(width)}${','.repeat(members + 1)}`,
    `the JSON has an object with more than ${width} members`,
  )
})

test('a number or word has at most 1,000 characters, wherever a chunk ends in it', () => {
  const problem = `the JSON has a number or word of more than ${scalar} characters`
  for (const size of [1, 7, 499, 500, 1_000, 65_536]) {
    for (const before of ['', '[', '[1,', `[${'1'.repeat(scalar)},`, '{"a":', '["x" , ']) {
      const most = `${before}${'7'.repeat(scalar)}`
      for (const end of ['', ' ', '\n', ',', ']', '}', ',1']) gauge(`${most}${end}${end === '' ? '' : '8'}`, size)
      assert.throws(
        () => gauge(`${most}7`, size),
        reasonOfRejection('BODY_MALFORMED', { problem }),
        `${before} ${size}`,
      )
    }
  }
})

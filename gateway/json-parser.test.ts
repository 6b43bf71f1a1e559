import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseInTurns } from './json-parser.ts'

const parse = (text: string): Promise<unknown> =>
  parseInTurns(
    text,
    () => {},
    () => {},
  )

/** What came of a text: its value, or that it was refused. */
const outcome = async (run: () => unknown): Promise<unknown> => {
  try {
    return { value: await run() }
  } catch (error) {
    assert.ok(error instanceof SyntaxError, `${error}`)
    return 'refused'
  }
}

const same = async (text: string): Promise<void> => {
  const expected = await outcome(() => JSON.parse(text))
  assert.deepEqual(await outcome(() => parse(text)), expected, text)
}

test('reads any JSON as JSON.parse does, and refuses what it refuses', async () => {
  const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }).map((value) => JSON.stringify(value, null, 1))
  const damaged = fc.tuple(json, fc.nat(), fc.constantFrom(...'{}[]",:\\e-. \n\u0000', '')).map(([text, place, to]) => {
    const at = place % (text.length + 1)
    return text.slice(0, at) + to + text.slice(at + 1)
  })
  const tokens = fc.array(
    fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"__proto__"', '1', '-0.5e3', 'true', 'null', ' ', '"\\u00'),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        json,
        damaged,
        tokens.map((all) => all.join('')),
      ),
      same,
    ),
    { numRuns: 3_000 },
  )
})

test('refuses and reads the rare forms as JSON.parse does', async () => {
  const texts = [
    ...['', ' ', '[', ']', '[1,]', '{,}', '{"a":1,}', '[1 2]', '1 2', '[]]', '{]', '[}', '01', '+1', '.5', '1.', 'nul'],
    ...['"a', '"\\', '"\\x"', '"\t"', '{a:1}', "'a'", '[1,,2]', '{"a"}', '{"a":}', '{"a" 1}', '\ufeff1', 'NaN', '1e'],
    ...['-0', '1e999', '"\\ud800"', '\n{"a" : [ 1 , 2 ] }\t', '{"a":1,"a":2}', '{"__proto__":{"x":1}}', '{"":1}'],
    ...['"a long string of words"', '"a long string\u0001 of words"', '{"10":1,"2":2,"a":3}', '[[],{},[{}]]'],
  ]
  for (const text of texts) await same(text)
  const value = (await parse('{"__proto__":{"x":1}}')) as object
  assert.equal(Object.getPrototypeOf(value), Object.prototype, 'a member is no prototype')
})

test('lets others have their turn, and stops when nobody waits any more', async () => {
  const text = `[${Array.from({ length: 400_000 }, (_, i) => `{"k${i}":1}`).join()}]`
  let turns = 0
  let parsed = false
  const count = (): void => {
    turns++
    if (!parsed) setImmediate(count)
  }
  setImmediate(count)
  assert.equal(((await parse(text)) as unknown[]).length, 400_000)
  parsed = true
  assert.ok(turns > 5, `${turns} turns`)
  let asked = 0
  const leave = (): void => {
    if (++asked === 3) throw new Error('gone')
  }
  await assert.rejects(
    parseInTurns(text, () => {}, leave),
    /^Error: gone$/,
  )
  assert.equal(asked, 3)
})

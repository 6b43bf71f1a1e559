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

test('yields to others, and stops when nobody waits any more', async () => {
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

test('yields to others within one long string and within long white space, too', async () => {
  const many = '0,'.repeat(20_000)
  const texts = [`[${many}${' '.repeat(3e7)}1]`, `[${many}1]${'\n'.repeat(3e7)}`, `[${many}"${'a'.repeat(3e7)}"]`]
  texts.push(`[${many}"${'\\"'.repeat(1.5e7)}"]`, `{"a":[${many}1],"${'\\u00e4'.repeat(5e6)}":1}`)
  for (const text of texts) {
    let turns = 0
    await parseInTurns(
      text,
      () => {},
      () => void turns++,
    )
    assert.ok(turns >= 3, `${turns} turns in ${text.slice(-20)}`)
  }
})

test('strings and white space are read as by JSON.parse, wherever it yields', async () => {
  for (const length of [1_990, 1_998, 1_999, 2_000, 2_001, 2_002, 4_001]) {
    for (const unit of ['a', ' ', '\\"', '\\\\', '\\u00e4', '😀']) {
      const text = unit.repeat(length)
      await same(`{"${text}":"${text}"}`)
      await same(`["${text}\\","${text}",1]`)
      await same(`["${text}`)
      await same(`["${text}\\`)
    }
    const space = ' \n\r\t'.repeat(length / 4 + 1).slice(0, length)
    await same(`${space}{${space}"a"${space}:${space}1${space},${space}"b":2${space}}${space}`)
    await same(`[1${space}2]`)
    await same(`[1]${space}2`)
  }
})

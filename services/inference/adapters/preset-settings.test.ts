import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettingsReader } from './preset-settings.ts'

/** Reads the settings of a version; `isParsed`: whether these are not the ones that its last use returned. */
function reader() {
  const settings = new SettingsReader()
  const last = new Map<string, unknown>()
  return function isParsed(versionId: string, verbosity = ''): boolean {
    const before = last.get(versionId)
    const read = settings.read({ versionId, settings: JSON.stringify({ verbosity }) })
    assert.equal(read.verbosity, verbosity)
    last.set(versionId, read)
    return read !== before
  }
}

test('parses a version once, and remembers the thousand that were used last', () => {
  const isParsed = reader()
  assert.deepEqual([isParsed('first'), isParsed('first')], [true, false])
  for (let i = 0; i < 998; i++) isParsed(`v${i}`)
  assert.equal(isParsed('first'), false)
  isParsed('one more')
  isParsed('another')
  assert.deepEqual([isParsed('first'), isParsed('v0')], [false, true])
})

test('remembers at most 8 million characters, and parses a larger version each time', () => {
  const isParsed = reader()
  const half = 'x'.repeat(4 << 20)
  const parses = (...ids: string[]) => ids.map((id) => isParsed(id, half))
  assert.deepEqual(parses('a', 'b', 'b', 'a'), [true, true, false, true])
  assert.deepEqual([isParsed('c', half + half), isParsed('c', half + half)], [true, true])
})

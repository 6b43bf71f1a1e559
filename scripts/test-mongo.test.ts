import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastWords } from './test-mongo.ts'

const red = (text: string) => `<red>${text}</red>`

test('a run without a MongoDB server says so in its last line, in red, also when everything else passed', () => {
  const said = 'no mongod on PATH'
  const missing = '<red>MongoDB was NOT TESTED, its suites were skipped: no mongod on PATH.</red>\n'
  const passed = 'Everything passed after 1.0 minutes.\n'
  assert.equal(lastWords({ uri: undefined, said }, true, '1.0', red), passed + missing)
  assert.equal(
    lastWords({ uri: undefined, said }, false, '1.0', red),
    `<red>FAILED after 1.0 minutes.</red>\n${missing}`,
  )
  assert.equal(
    lastWords({ uri: 'mongodb://x', said: 'the server' }, true, '1.0', red),
    `MongoDB: the server\n${passed}`,
  )
})

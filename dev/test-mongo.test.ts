import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scratchDirectory } from '#test/support/processes.ts'
import { lastWords, startMongo } from './test-mongo.ts'

const red = (text: string) => `<red>${text}</red>`

test('a run without a MongoDB server says so in its last line, in red, also when everything else passed', () => {
  const description = 'no mongod on PATH'
  const missing = '<red>MongoDB was NOT TESTED, its suites were skipped: no mongod on PATH.</red>\n'
  const passed = 'Everything passed after 1.0 minutes.\n'
  assert.equal(lastWords({ uri: undefined, description }, true, '1.0', red), passed + missing)
  assert.equal(
    lastWords({ uri: undefined, description }, false, '1.0', red),
    `<red>FAILED after 1.0 minutes.</red>\n${missing}`,
  )
  assert.equal(
    lastWords({ uri: 'mongodb://x', description: 'the server' }, true, '1.0', red),
    `MongoDB: the server\n${passed}`,
  )
})

test('a server that cannot be fetched is reported in one line, with the reason', async () => {
  using scratch = scratchDirectory()
  delete process.env.PORTICO_TEST_MONGODB_URI
  Object.assign(process.env, {
    PATH: scratch.path,
    MONGOMS_DOWNLOAD_DIR: scratch.path,
    // Nobody has this one: those that were fetched earlier, by this run or another, are in other folders as well.
    MONGOMS_VERSION: '8.2.9999',
    MONGOMS_DOWNLOAD_MIRROR: 'https://127.0.0.1:9',
    MONGOMS_MAX_RETRIES: '1',
  })
  const { uri, description, stop } = await startMongo(scratch.path)
  try {
    assert.equal(uri, undefined)
    assert.match(
      description,
      /^no mongod on PATH, and none could be fetched \(Download failed for url "https:\/\/127\.0\.0\.1:9\/[^"]*": [^\n]*ECONNREFUSED[^\n]*\)$/,
    )
  } finally {
    await stop()
  }
})

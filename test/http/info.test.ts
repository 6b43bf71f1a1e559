import assert from 'node:assert/strict'
import { homedir, tmpdir } from 'node:os'
import test from 'node:test'
import { readConfig } from '#gateway/config.ts'
import { openFacade } from '#test/support/facade.ts'

test('server.info returns version, process, URLs and paths, and that the server is ready', async () => {
  await using facade = await openFacade()
  const answer = await facade.fetch('/api/info')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(answer.headers.get('x-powered-by'), null)
  assert.equal(answer.headers.get('etag'), null)
  assert.deepEqual(await answer.json(), {
    version: readConfig({}).version,
    pid: process.pid,
    urls: [facade.url],
    paths: { home: homedir(), tmp: tmpdir() },
    status: 'ready',
  })
})

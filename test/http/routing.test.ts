import assert from 'node:assert/strict'
import test from 'node:test'
import { openFacade } from '#test/support/facade.ts'

test('an unknown route is 404 in the body of its API family', async () => {
  await using facade = await openFacade({}, { PORTICO_AUTH: 'none' })
  const instance = await facade.fetch('/api/nothing')
  assert.equal(instance.status, 404)
  assert.equal(instance.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(await instance.json(), { _tag: 'NotFoundError', message: 'No such route' })
  const oauth = await facade.fetch('/api/v1/oauth/nothing')
  assert.equal(oauth.status, 404)
  assert.deepEqual(await oauth.json(), { error: 'invalid_request', error_description: 'No such route' })
  const root = await facade.fetch('/')
  assert.equal(root.status, 404)
  assert.deepEqual(await root.json(), { _tag: 'NotFoundError', message: 'No such route' })
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { connected, gone, openStream, readUntil } from '#test/support/event-stream.ts'
import { openFacade, type Stubs, TEST_KEYS } from '#test/support/facade.ts'

const ENV = { PORTICO_AUTH: 'bearer', PORTICO_HEARTBEAT_MS: '10' }
const HEADERS = { authorization: `Bearer ${TEST_KEYS.workspace}` }
const PATHS = ['/api/event', '/api/experimental/session/ses_1/log?follow=true']

/** Streams that never end by themselves, and an identity service that fails with `error`, if there is one. */
function streams(error: { now?: Error | undefined }) {
  let asked = 0
  const stubs: Stubs = {
    session: {
      async *streamEvents(_, context) {
        yield connected
        await gone(context)
      },
      async *streamSessionLog(_, context) {
        yield { message: { case: 'synced', value: {} } } as const
        await gone(context)
      },
    },
    identity: {
      authenticate() {
        asked += 1
        if (error.now !== undefined) throw error.now
        const ids = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1' }
        return { principal: { ...ids, kind: Principal_Kind.WORKSPACE } }
      },
    },
  }
  return { stubs, asked: () => asked }
}

for (const path of PATHS) {
  test(`${path} ends when its key is refused, and says so`, async () => {
    const error: { now?: Error | undefined } = {}
    await using facade = await openFacade(streams(error).stubs, ENV)
    const stream = await openStream(`${facade.url}${path}`, HEADERS)
    await readUntil(stream, (text) => text.includes('heartbeat'))
    error.now = new Rejection('CREDENTIAL_REFUSED')
    const rest = await readUntil(stream, () => false)
    const last = rest.trimEnd().split('\n\n').at(-1) ?? ''
    assert.match(last, /^retry: 1000\ndata: \{.*"type":"server.error".*"UnauthorizedError"/)
    assert.equal((await facade.fetch(path, { headers: HEADERS })).status, 401)
  })

  test(`${path} goes on while the identity service cannot say whether its key is valid`, async () => {
    const error: { now?: Error | undefined } = {}
    const { stubs, asked } = streams(error)
    await using facade = await openFacade(stubs, ENV)
    const stream = await openStream(`${facade.url}${path}`, HEADERS)
    await readUntil(stream, (text) => text.includes('heartbeat'))
    error.now = new ConnectError('away', Code.Unavailable)
    const before = asked()
    await readUntil(stream, () => asked() > before + 2)
    error.now = undefined
    const text = await readUntil(stream, (text) => text.includes('heartbeat'))
    assert.ok(!text.includes('server.error'))
    stream.destroy()
  })
}

test('without required keys, a stream authenticates its client only once', async () => {
  const { stubs, asked } = streams({})
  await using facade = await openFacade(stubs, { PORTICO_HEARTBEAT_MS: '10' })
  const stream = await openStream(`${facade.url}/api/event`)
  await readUntil(stream, (text) => text.split('heartbeat').length > 3)
  assert.equal(asked(), 1)
  stream.destroy()
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { createClient } from '#shared/rpc/client.ts'
import { dial } from './server.ts'

const isUnavailable = (error: unknown) => error instanceof ConnectError && error.code === Code.Unavailable

/**
 * A server that handles each stream, numbered from 1 over all connections, as the test says; answers are empty
 * messages.
 */
async function peer(take: (stream: ServerHttp2Stream, number: number) => void) {
  const server = createServer()
  let taken = 0
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    take(stream, ++taken)
  })
  server.on('session', (session) => session.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: () => taken,
    [Symbol.dispose]: () => void server.close(),
  }
}

function answer(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/proto' }, { endStream: true })
}

// Its second try could answer a permission request that somebody else has made since.
const method = 'replyPermissionRequest'

test('a call that the peer refused to take is sent again, whether or not it may be repeated', async () => {
  using server = await peer((stream, number) => {
    if (number < 3) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else answer(stream)
  })
  await using transport = dial(server)
  await createClient(SessionService, transport)[method]({})
  assert.equal(server.taken(), 3)
})

test('calls that a GOAWAY excludes are sent again, on another connection', async () => {
  const connections = new Set<unknown>()
  using server = await peer((stream, number) => {
    connections.add(stream.session)
    if (number !== 2) answer(stream)
    else stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1)
  })
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  await client[method]({})
  await client[method]({})
  assert.deepEqual([server.taken(), connections.size], [3, 2])
})

test('a call that the peer may have begun is not sent again', async () => {
  for (const cut of [
    (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL),
    (stream: ServerHttp2Stream) => stream.session?.destroy(),
    (stream: ServerHttp2Stream) => stream.session?.goaway(constants.NGHTTP2_INTERNAL_ERROR),
  ]) {
    using server = await peer(cut)
    await using transport = dial(server)
    await assert.rejects(createClient(SessionService, transport)[method]({}), isUnavailable)
    assert.equal(server.taken(), 1)
  }
})

test('gives a peer up that refuses four times', async () => {
  using server = await peer((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
  await using transport = dial(server)
  await assert.rejects(createClient(SessionService, transport)[method]({}), isUnavailable)
  assert.equal(server.taken(), 4)
})

test('treats an answer without headers as an error, even if its stream ends without one', async () => {
  for (const end of [
    (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_NO_ERROR),
    (stream: ServerHttp2Stream) => stream.destroy(),
  ]) {
    using server = await peer(end)
    await using transport = dial(server)
    const call = createClient(SessionService, transport)[method]({}, { timeoutMs: 60_000 })
    await assert.rejects(call, isUnavailable)
  }
})

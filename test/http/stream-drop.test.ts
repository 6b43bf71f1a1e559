import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** An RPC that sends one message and then waits, counted while it is open. */
function endless<T>(first: T) {
  const counter = { opened: 0, open: 0 }
  async function* stream(_: unknown, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<T> {
    counter.opened += 1
    counter.open += 1
    try {
      yield first
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    } finally {
      counter.open -= 1
    }
  }
  /** The same for a unary RPC. */
  async function call(request: unknown, context: { readonly signal: AbortSignal }): Promise<never> {
    for await (const _ of stream(request, context));
    throw context.signal.reason
  }
  return { counter, stream, call }
}

function send(url: string, bytes: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.resume().write(bytes)
  return socket
}

test('a hundred event streams share one, and when they are dropped nothing is left open, nor behind another one', async () => {
  const { counter, stream } = endless({ message: { case: 'connected' as const, value: {} } })
  await using facade = await openFacade({ session: { streamEvents: stream } })
  const request = `GET /api/event HTTP/1.1\r\nHost: ${new URL(facade.url).host}\r\n\r\n`
  const sockets = Array.from({ length: 100 }, () => send(facade.url, request))
  sockets.push(send(facade.url, request.repeat(5)))
  await waitFor('105 streams', () => facade.listener.lifecycle.openStreams === 105)
  assert.equal(counter.open, 1)
  for (const socket of sockets) socket.destroy()
  await waitFor('no RPC stream', () => counter.open === 0)
  assert.equal(counter.opened, 1)
  await waitFor('no stream', () => facade.listener.lifecycle.openStreams === 0)
})

test('a hundred responses that are dropped leave nothing open, streamed or not', async () => {
  const { counter, stream, call } = endless({ events: [] })
  await using facade = await openFacade({ inference: { streamGenerate: stream, generate: call } })
  const request = (streamed: boolean): string => {
    const body = JSON.stringify({ model: 'm', input: 'x', stream: streamed })
    const headers = [
      `Host: ${new URL(facade.url).host}`,
      `Authorization: Bearer ${TEST_KEYS.workspace}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    return `POST /api/v1/responses HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`
  }
  const sockets = Array.from({ length: 100 }, (_, i) => send(facade.url, request(i % 2 === 0)))
  await waitFor('100 streams', () => counter.open === 100)
  for (const socket of sockets) socket.destroy()
  await waitFor('no RPC stream', () => counter.open === 0)
  await waitFor('no stream', () => facade.listener.lifecycle.openStreams === 0)
})

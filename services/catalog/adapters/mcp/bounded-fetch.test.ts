import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Agent } from 'undici'
import { boundedFetch } from './bounded-fetch.ts'

/** The pieces of the response to a request to a server that sends this text. */
async function piecesOf(t: TestContext, sent: string, type: string, method: string): Promise<string[]> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': type }).end(sent)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const agent = new Agent()
  t.after(() => agent.destroy())
  const fetch = boundedFetch(agent, () => {})
  const { body } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method })
  const pieces = await Array.fromAsync(body as AsyncIterable<Uint8Array>)
  return pieces.map((piece) => Buffer.from(piece).toString())
}

for (const [how, end, type, method] of [
  ['with LF at the end of lines', '\n\n', 'text/event-stream', 'POST'],
  ['with CR LF at the end of lines', '\r\n\r\n', 'text/event-stream', 'POST'],
  ['with CR at the end of lines', '\r\r', 'text/event-stream', 'POST'],
  ['with mixed line ends', '\n\r\n', 'Text/Event-Stream; charset=utf-8', 'POST'],
  ['of another type', '\n\n', 'application/json', 'GET'],
] as const) {
  test(`at most 20 events are passed on at a time when many arrive at once, ${how}`, async (t) => {
    const sent = `data: {}${end}`.repeat(500)
    const pieces = await piecesOf(t, sent, type, method)
    assert.equal(pieces.join(''), sent)
    for (const piece of pieces) assert.ok(piece.split('data').length - 1 <= 21, piece)
  })
}

test('a body that is not exactly one message, such as a list of messages, is refused', async (t) => {
  const message = '{"jsonrpc":"2.0","id":1,"result":{}}'
  for (const sent of [`[${message}]`, ` \n\n[${message}]`, `\uFEFF[${message}]`]) {
    await assert.rejects(piecesOf(t, sent, 'Application/JSON', 'POST'), /something else than one message/)
  }
  assert.equal((await piecesOf(t, ` \n${message}`, 'application/json', 'POST')).join(''), ` \n${message}`)
})

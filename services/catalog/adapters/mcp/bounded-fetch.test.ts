import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Agent } from 'undici'
import { boundedFetch } from './bounded-fetch.ts'

for (const [lines, end] of [
  ['LF', '\n\n'],
  ['CR LF', '\r\n\r\n'],
  ['CR', '\r\r'],
  ['mixed', '\n\r\n'],
] as const) {
  test(`of many events that arrive at once, with ${lines} at the end of lines, at most 20 are passed on at a time`, async (t) => {
    const sent = `data: {}${end}`.repeat(500)
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(sent)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const agent = new Agent()
    t.after(() => agent.destroy())
    const fetch = await boundedFetch(agent, () => {})
    const { body } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const pieces = (await Array.fromAsync(body as AsyncIterable<Uint8Array>)).map((piece) => Buffer.from(piece))
    assert.equal(Buffer.concat(pieces).toString(), sent)
    for (const piece of pieces) assert.ok(piece.toString().split('data').length - 1 <= 21, String(piece))
  })
}

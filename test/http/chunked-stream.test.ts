import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { sendBytes } from '#test/support/raw-socket.ts'

const input = 'Größe 漢字 \u{1F600}'
const answer = `This is portico/echo, the built-in model that needs no network. You said: ${input}`

function requestBytes(url: string, version: string): string {
  const body = Buffer.from(JSON.stringify({ model: 'portico/echo', input, stream: true }))
  const lines = [
    `POST /api/v1/responses HTTP/${version}`,
    `Host: ${new URL(url).host}`,
    `Authorization: Bearer ${PORTICO_KEYS.api}`,
    'Content-Type: application/json',
    `Content-Length: ${body.byteLength}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body.toString('latin1')}`
}

/** Takes a chunked body apart (RFC 9112 section 7.1); returns its text, and what follows it. */
function unchunk(bytes: Buffer): { readonly text: string; readonly rest: string } {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const border = bytes.indexOf('\r\n', at)
    const size = bytes.toString('latin1', at, border)
    assert.match(size, /^[0-9a-f]+$/)
    const [begin, end] = [border + 2, border + 2 + Number.parseInt(size, 16)]
    assert.equal(bytes.toString('latin1', end, end + 2), '\r\n')
    if (begin === end) return { text: Buffer.concat(chunks).toString(), rest: bytes.toString('latin1', end + 2) }
    chunks.push(bytes.subarray(begin, end))
    at = end + 2
  }
}

function textOf(stream: string): string {
  const events = stream.split('\n\n').filter((frame) => frame.includes('"type":"response.output_text.delta"'))
  return events.map((frame) => JSON.parse(frame.slice(frame.indexOf('{'))).delta).join('')
}

test('a stream is chunked in bytes, ends with the last chunk, and its connection takes the next request', async () => {
  await using portico = await openPortico()
  const next = `GET /livez HTTP/1.1\r\nHost: ${new URL(portico.url).host}\r\nConnection: close\r\n\r\n`
  const { status, head, body } = await sendBytes(portico.url, requestBytes(portico.url, '1.1') + next)
  assert.equal(status, 200)
  assert.match(head, /^transfer-encoding: chunked$/im)
  const { text, rest } = unchunk(Buffer.from(body))
  assert.equal(textOf(text), answer)
  assert.match(text, /data: \[DONE\]\n\n$/)
  assert.match(rest, /^HTTP\/1\.1 200 OK\r\n/)
})

test('a client of HTTP/1.0 gets the stream as it is, until the connection closes', async () => {
  await using portico = await openPortico()
  const { status, head, body } = await sendBytes(portico.url, requestBytes(portico.url, '1.0'))
  assert.equal(status, 200)
  assert.doesNotMatch(head, /^transfer-encoding:/im)
  assert.match(head, /^connection: close$/im)
  assert.equal(textOf(body), answer)
  assert.match(body, /data: \[DONE\]\n\n$/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sendUnread } from '#test/support/client.ts'
import { eventsOf, messageOf, openAnthropic, post } from '#test/support/messages.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { startStub } from '#test/support/provider-stub.ts'

const hello = { model: 'anthropic/claude-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const MARKERS = { 'x-session-id': 'marker-session', 'anthropic-beta': 'marker-beta' }
const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

function begins(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event('message_start', { message: { usage: { input_tokens: 1 } } }))
  response.write(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }))
  response.write(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'marker-answer' } }))
}

test('an answer that the provider cuts ends with an error, and nothing of it is in the log', async () => {
  await using stub = await startStub((response) => {
    begins(response)
    response.end()
  })
  await using portico = await openAnthropic(stub)
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'marker-prompt', citations: [{ note: 'marker-citation' }] }] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'marker-thought', signature: 'marker-proof' }] },
    {
      role: 'user',
      content: [
        { type: 'marker_block', note: 'marker-note' },
        { type: 'text', text: 'x' },
      ],
    },
  ]
  const more = { system: 'marker-system', metadata: { user_id: 'marker-user' }, trace: { trace_name: 'marker-trace' } }
  const answer = await post(portico, { ...hello, ...more, messages, stream: true }, MARKERS)
  const text = await answer.text()
  assert.equal(answer.status, 200)
  assert.match(text, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"[^\n]*\n\n$/)
  assert.doesNotMatch(JSON.stringify(portico.log), new RegExp(`marker-|${PORTICO_KEYS.api}|sk-ant-upstream`))
})

/** Requests a stream, and returns it unread. */
const open = (portico: Portico) =>
  sendUnread(portico, '/v1/messages', { ...hello, max_tokens: 100_000, stream: true }, { key: PORTICO_KEYS.api })

test('a client that does not read slows Anthropic down, and misses nothing', async () => {
  // Much to send, as JSON, and little to keep.
  const words = '\u0001'.repeat(10)
  const page = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } }).repeat(500)
  const pages = 160
  let sent = 0
  await using stub = await startStub(async (response) => {
    begins(response)
    for (sent = 0; sent < pages; sent++) if (!response.write(page)) await once(response, 'drain')
    response.write(event('content_block_stop', { index: 0 }))
    const delta = { stop_reason: 'end_turn', stop_sequence: null }
    response.end(event('message_delta', { delta, usage: { output_tokens: 1 } }) + event('message_stop', {}))
  })
  await using portico = await openAnthropic(stub)
  const answer = await open(portico)
  let seen = 0
  for (let quiet = 0; quiet < 20; quiet = sent === seen ? quiet + 1 : 0) {
    seen = sent
    await delay(20)
  }
  assert.ok(seen < pages, `Anthropic has sent ${seen} of ${pages} pages to nobody`)
  answer.setEncoding('utf8')
  let text = ''
  for await (const piece of answer) text += piece
  const message = messageOf(eventsOf(text))
  assert.equal(message.content[0].text, `marker-answer${words.repeat(500 * pages)}`)
  assert.equal(message.stop_reason, 'end_turn')
})

test('a client that hangs up in the middle aborts the request to Anthropic', async () => {
  await using stub = await startStub(begins)
  await using portico = await openAnthropic(stub)
  const answer = await open(portico)
  await once(answer, 'data')
  answer.destroy()
  await stub.hungUp
})

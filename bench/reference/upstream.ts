// An OpenAI-compatible provider that answers immediately: with JSON, or with a stream of 200 chunks, one per turn of
// the event loop. A prompt may contain "40 words"; "each 10 ms", which also adds to each chunk when it was sent; and
// "slow": a chunk every 5 ms until the caller hangs up, which is reported to the parent.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

const WORDS = 200
const usage = (words: number) => ({ prompt_tokens: 12, completion_tokens: words, total_tokens: 12 + words })
const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'gpt-bench' }

function frame(choices: unknown[], rest: object = {}): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...rest })}\n\n`
}
const first = frame([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
const deltaOf = (content: string): string => frame([{ index: 0, delta: { content }, finish_reason: null }])
const delta = deltaOf(' word')
const last = (words: number): string =>
  `${frame([{ index: 0, delta: {}, finish_reason: 'stop' }])}${frame([], { usage: usage(words) })}data: [DONE]\n\n`

const now = (): number => performance.timeOrigin + performance.now()

function whole(words: number): string {
  const message = { role: 'assistant', content: ' word'.repeat(words) }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return JSON.stringify({ ...head, object: 'chat.completion', usage: usage(words), choices })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const { stream } = JSON.parse(body) as { stream?: boolean }
  const words = Number(/(\d+) words/.exec(body)?.[1] ?? WORDS)
  if (stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(whole(words))
    return
  }
  const slow = body.includes('slow')
  const every = slow ? 5 : Number(/each (\d+) ms/.exec(body)?.[1] ?? 0)
  let gone = false
  response.on('close', () => {
    gone = true
    if (!response.writableFinished) process.send?.({ hungUpAt: now() })
  })
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(first)
  for (let sent = 0; (slow || sent < words) && !gone; sent += 1) {
    response.write(every === 0 ? delta : deltaOf(` ${now().toFixed(1)}`))
    // The second chunk has a random delay, so that streams that began together do not stay in step.
    await (every === 0 ? nextTurn() : pause(sent === 0 ? every * Math.random() : every))
  }
  response.end(last(words))
}

const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))

// The reference for the gateway: bare Express that parses the upstream's response and answers in the form of
// /api/v1/responses or /api/v1/chat/completions. No authentication, no schemas, no prices, no logs; a ledger and keys
// only if BENCH_LEDGER names a folder for them.
import { randomUUID } from 'node:crypto'
import express, { type Response } from 'express'
import { Pool } from 'undici'
import { ReferenceLedger } from './ledger.ts'

const upstream = new Pool(process.env.BENCH_UPSTREAM ?? '')
const folder = process.env.BENCH_LEDGER
const ledger = folder === undefined ? undefined : new ReferenceLedger(folder)

interface Asked {
  readonly model: string
  /** Of responses. */
  readonly input?: string
  /** Of chat completions. */
  readonly messages?: readonly object[]
  readonly stream?: boolean
}

interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

interface Chunk {
  readonly choices: readonly {
    readonly delta?: { readonly content?: string }
    readonly message?: { content: string }
  }[]
  readonly usage?: Usage
}

/** How an answer is written: whole, or its stream from `begin` to `end`. */
interface Dialect {
  whole(id: string, model: string, text: string, usage: Usage | undefined): object
  begin(id: string, model: string): string
  delta(id: string, model: string, delta: string, sequence: number): string
  end(id: string, model: string, text: string, usage: Usage | undefined): string
}

function event(type: string, rest: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
}

const RESPONSES: Dialect = {
  whole: object,
  begin: (id, model) => event('response.created', { response: object(id, model, '', undefined) }),
  delta: (id, _, delta, sequence_number) =>
    event('response.output_text.delta', { sequence_number, item_id: `msg_${id}`, content_index: 0, delta }),
  end: (id, model, text, usage) => event('response.completed', { response: object(id, model, text, usage) }),
}

function chunk(id: string, model: string, choice: object | undefined, rest: object = {}): string {
  const choices = choice === undefined ? [] : [{ index: 0, finish_reason: null, ...choice }]
  const created = Math.floor(Date.now() / 1_000)
  return `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model, choices, ...rest })}\n\n`
}

const CHAT: Dialect = {
  whole: (id, model, content, usage) => {
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }]
    return { id, object: 'chat.completion', created: Math.floor(Date.now() / 1_000), model, choices, usage }
  },
  begin: (id, model) => chunk(id, model, { delta: { role: 'assistant', content: '' } }),
  delta: (id, model, content) => chunk(id, model, { delta: { content } }),
  end: (id, model, _, usage) =>
    chunk(id, model, { delta: {}, finish_reason: 'stop' }) + chunk(id, model, undefined, { usage }),
}

function object(id: string, model: string, text: string, usage: Usage | undefined) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1_000),
    model,
    status: 'completed',
    error: null,
    output: [{ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed', content }],
    usage: usage && {
      input_tokens: usage.prompt_tokens,
      output_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
    },
  }
}

function call(asked: Asked, signal: AbortSignal) {
  const messages = asked.messages ?? [{ role: 'user', content: asked.input }]
  return upstream.request({
    path: '/v1/chat/completions',
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: asked.model,
      messages,
      stream: asked.stream === true,
      ...(asked.stream === true ? { stream_options: { include_usage: true } } : {}),
    }),
  })
}

/** Opens a row; returns how it is closed. */
async function openRow(id: string, { model }: Asked, credential = ''): Promise<(usage?: Usage) => void> {
  if (ledger === undefined) return () => {}
  const row = { id, key: ledger.keyOf(credential), model, held: 1_000 }
  await ledger.write(row)
  return ({ prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = {} as Usage) => {
    void ledger.write({ ...row, inputTokens, outputTokens, cost: inputTokens * 2 + outputTokens * 8 })
  }
}

async function stream(asked: Asked, response: Response, dialect: Dialect): Promise<void> {
  const hungUp = new AbortController()
  response.on('close', () => hungUp.abort())
  const id = randomUUID()
  const closeRow = await openRow(id, asked, response.req.headers.authorization)
  const { body } = await call(asked, hungUp.signal)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(dialect.begin(id, asked.model))
  let [rest, text, sequence] = ['', '', 0]
  let usage: Usage | undefined
  for await (const bytes of body.setEncoding('utf8')) {
    const lines = `${rest}${bytes}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const chunk = JSON.parse(line.slice(6)) as Chunk
      usage = chunk.usage ?? usage
      const delta = chunk.choices[0]?.delta?.content
      if (delta === undefined || delta === '') continue
      text += delta
      sequence += 1
      response.write(dialect.delta(id, asked.model, delta, sequence))
    }
  }
  closeRow(usage)
  response.write(dialect.end(id, asked.model, text, usage))
  response.end('data: [DONE]\n\n')
}

async function answer(asked: Asked, response: Response, dialect: Dialect): Promise<void> {
  if (asked.stream === true) {
    await stream(asked, response, dialect).catch(() => response.destroy())
    return
  }
  const id = randomUUID()
  const closeRow = await openRow(id, asked, response.req.headers.authorization)
  const { body } = await call(asked, new AbortController().signal)
  const { choices, usage } = (await body.json()) as Chunk
  closeRow(usage)
  response.json(dialect.whole(id, asked.model, choices[0]?.message?.content ?? '', usage))
}

const app = express()
app.set('etag', false)
app.set('x-powered-by', false)
app.use(express.json())
app.post('/api/v1/responses', ({ body }, response) => answer(body, response, RESPONSES))
app.post('/api/v1/chat/completions', ({ body }, response) => answer(body, response, CHAT))

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})
process.on('SIGTERM', () => process.exit(0))

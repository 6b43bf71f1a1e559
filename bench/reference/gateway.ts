// What the gateway paths are measured against: bare Express that parses what the upstream says and answers in the shape of
// /api/v1/responses. No authentication, no schemas, no ledger, no prices, no logs.
import { randomUUID } from 'node:crypto'
import express, { type Response } from 'express'
import { Pool } from 'undici'

const upstream = new Pool(process.env.BENCH_UPSTREAM ?? '', { connections: 64 })

interface Asked {
  readonly model: string
  readonly input: string
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

function object(id: string, model: string, text: string, usage: Usage | undefined) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return {
    ...{ id, object: 'response', created_at: Math.floor(Date.now() / 1_000), model, status: 'completed', error: null },
    output: [{ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed', content }],
    usage: usage && {
      ...{ input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens },
      total_tokens: usage.total_tokens,
    },
  }
}

function call(asked: Asked, signal: AbortSignal) {
  return upstream.request({
    ...{ path: '/v1/chat/completions', method: 'POST', signal, headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({
      ...{ model: asked.model, messages: [{ role: 'user', content: asked.input }], stream: asked.stream === true },
      ...(asked.stream === true ? { stream_options: { include_usage: true } } : {}),
    }),
  })
}

async function stream(asked: Asked, response: Response): Promise<void> {
  const hungUp = new AbortController()
  response.on('close', () => hungUp.abort())
  const id = randomUUID()
  const { body } = await call(asked, hungUp.signal)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (type: string, rest: object): boolean =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
  send('response.created', { response: object(id, asked.model, '', undefined) })
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
      send('response.output_text.delta', { sequence_number: sequence, item_id: `msg_${id}`, content_index: 0, delta })
    }
  }
  send('response.completed', { response: object(id, asked.model, text, usage) })
  response.end('data: [DONE]\n\n')
}

const app = express()
app.set('etag', false)
app.set('x-powered-by', false)
app.use(express.json())

app.post('/api/v1/responses', async (request, response) => {
  const asked = request.body as Asked
  if (asked.stream === true) {
    await stream(asked, response).catch(() => response.destroy())
    return
  }
  const { body } = await call(asked, new AbortController().signal)
  const { choices, usage } = (await body.json()) as Chunk
  response.json(object(randomUUID(), asked.model, choices[0]?.message?.content ?? '', usage))
})

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})
process.on('SIGTERM', () => process.exit(0))

// A mixed load of generations, and a check that every sum that is shown equals the sum of the rows that are shown.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type KeyTermsSchema, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { call, send as request } from '#test/support/client.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { created } from '#test/support/presets.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chunk, type Json } from '#test/support/responses.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 4 },
}
const said = chunk({ role: 'assistant', content: 'Hello to you' })
const end = chunk({}, {}, 'stop')
const completion = (usage: object) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello to you' }, finish_reason: 'stop' }],
  ...usage,
})

/** What the provider does with a request, by a word in it: whole and streamed. */
const DEEDS: Readonly<Record<string, readonly ((response: ServerResponse) => unknown)[]>> = {
  answers: [
    answers(200, completion({ usage: USAGE })),
    streams(`${said}${end}data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`),
  ],
  counts: [answers(200, completion({})), streams(`${said}${end}data: [DONE]\n\n`)],
  fails: [answers(500, { error: { message: 'No' } }), answers(400, { error: { message: 'No' } })],
  breaks: [(response) => response.destroy(), streams(said)],
  waits: [() => {}, (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(said)],
}

const messages = (content: string) => ({ messages: [{ role: 'user', content }] })
/** A request in each dialect. */
const DIALECTS: Readonly<Record<string, (text: string) => object>> = {
  responses: (input) => ({ input, max_output_tokens: 20 }),
  'chat/completions': (text) => ({ ...messages(text), max_tokens: 20 }),
  messages: (text) => ({ ...messages(text), max_tokens: 20 }),
}

/** Keys without a limit, and some whose limits let a few of the requests through. */
const KEYS: readonly MessageInitShape<typeof KeyTermsSchema>[] = [
  {},
  { limitNanos: 1_000_000_000n },
  { limitNanos: 150_000n },
  { requestsPerMinute: 4 },
  { concurrentRequests: 1 },
]

/** Starts the provider of a mixed load; `env` configures it. */
export async function startMixedProvider(): Promise<{
  readonly stub: ProviderStub
  readonly env: Record<string, string>
}> {
  const stub: ProviderStub = await startStub((response) => {
    const { messages, stream } = Object(stub.seen.at(-1)?.body) as Json
    const text = JSON.stringify(messages)
    const [, deeds] = Object.entries(DEEDS).find(([word]) => text.includes(word)) ?? assert.fail(text)
    return deeds[stream === true ? 1 : 0]?.(response)
  })
  const models = ['gpt', 'mini'].map((id, i) => ({
    id,
    pricing: { input: 1 + i, output: 2, cacheRead: 0.5, cacheWrite: 3 },
  }))
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  return { stub, env: { PORTICO_CONFIG: providerConfig([provider]), PORTICO_KEEP_ALIVE_MS: '30' } }
}

interface Key {
  readonly secret: string
  readonly hash: string
  readonly keyId: string
}

/** Sends a mixed load through all of them at once, and compares the sums that each of them shows with the rows. */
export async function assertSums(stub: ProviderStub, hosts: readonly Portico[]): Promise<void> {
  const [first] = hosts
  assert.ok(first)
  const keys: Key[] = await Promise.all(
    KEYS.map(async (terms) => {
      const key = { kind: Principal_Kind.WORKSPACE, name: 'mixed', terms }
      const { secret, apiKey } = await first.identity.createApiKey(key, first.operator)
      return { secret, hash: apiKey?.hash ?? '', keyId: apiKey?.keyId ?? '' }
    }),
  )
  await created(first, 'mixed', 'messages', { model: 'priced/mini', max_tokens: 10, system: 'Be brief.' })
  const sent = (await Promise.all(keys.flatMap((key, i) => loadOf(stub, hosts, key, i)))).flat()
  const admitted = sent.filter(({ refused }) => !refused)
  const found = await Promise.all(admitted.map(({ id }, i) => rowOf(hosts[i % hosts.length] as Portico, id)))
  for (const { id } of sent.filter((one) => !admitted.includes(one))) {
    assert.equal((await get(first, `generation?id=${id}`, PORTICO_KEYS.api)).status, 404)
  }
  for (const status of ['completed', 'failed', 'aborted'])
    assert.ok(
      found.some((row) => row.status === status),
      status,
    )
  assert.ok(found.some((row) => row.estimated) && found.some((row) => row.preset_id) && found.length < sent.length)
  // 15 tokens of input, 10 read from a cache, 5 written to it, and 12 of output.
  for (const { model, status, estimated, total_cost: cost } of found) {
    const input = { 'priced/gpt': 15_000, 'priced/mini': 30_000 }[model as string] ?? assert.fail(model)
    if (status === 'completed' && !estimated) assert.equal(nanos(cost), input + 10 * 500 + 5 * 3_000 + 12 * 2_000)
  }
  for (const host of hosts) await assertShown(host, keys, found)
}

interface Sent {
  readonly id: string
  /** By a limit. */
  readonly refused: boolean
}

/** The requests of one key, in lanes. */
function loadOf(stub: ProviderStub, hosts: readonly Portico[], { secret }: Key, of: number): Promise<Sent[]>[] {
  return Object.entries(DIALECTS).map(async ([dialect, bodyOf], at) => {
    const sent: Sent[] = []
    for (const [i, deed] of Object.keys(DEEDS).entries()) {
      for (const stream of [false, true]) {
        const host = hosts[(of + at + i) % hosts.length] as Portico
        const text = `Who ${deed} ${[of, at, i, stream].join()}?`
        const model = i % 2 === 0 ? 'priced/gpt' : 'priced/gpt@preset/mixed'
        const own = deed === 'answers' && stream ? '@preset/mixed' : model
        const body = { model: own, stream, ...bodyOf(text) }
        const isCalled =
          deed !== 'waits' ? undefined : () => stub.seen.some(({ body }) => JSON.stringify(body).includes(text))
        const metadata = dialect === 'messages' ? {} : { metadata: { team: stream ? 'red' : 'blue' } }
        sent.push(await send(host, dialect, secret, { ...body, ...metadata }, isCalled))
      }
    }
    return sent
  })
}

/** `isCalled`: the client leaves as soon as the provider was called; undefined: it stays to the end. */
async function send(
  portico: Portico,
  path: string,
  key: string,
  body: object,
  isCalled?: () => boolean,
): Promise<Sent> {
  const controller = new AbortController()
  const answer = await request(portico, 'POST', `/api/v1/${path}`, body, { key, signal: controller.signal })
  let text: string | undefined
  const whole = answer.text().then(
    (all) => (text = all),
    () => '',
  )
  if (isCalled !== undefined) {
    await waitFor('a call or a refusal', () => text !== undefined || isCalled())
    if (text === undefined) controller.abort()
  }
  // A refusal that comes late is in the body of a 200.
  const refused = /payment_required|rate_limit_exceeded/.test(await whole)
  return { id: answer.headers.get('x-generation-id') ?? assert.fail('no id'), refused }
}

async function get(portico: Portico, path: string, key: string): Promise<{ status: number; data: Json }> {
  const { status, json } = await call(portico, 'GET', `/api/v1/${path}`, undefined, { key })
  return { status, data: json.data }
}

/** The row of a generation. A client that left does not know when it is closed. */
function rowOf(host: Portico, id: string): Promise<Json> {
  return waitUntil('the row', async () => {
    const { status, data } = await get(host, `generation?id=${id}`, PORTICO_KEYS.api)
    return status === 200 ? data : undefined
  })
}

const nanos = (dollars: number): number => Math.round(dollars * 1e9)
const sum = (rows: readonly Json[], name: string): number => rows.reduce((sum, row) => sum + (row[name] ?? 0), 0)

function totals(rows: readonly Json[]) {
  return {
    requests: rows.length,
    cost: rows.reduce((sum, { total_cost: cost }) => sum + nanos(cost), 0),
    prompt: sum(rows, 'tokens_prompt'),
    completion: sum(rows, 'tokens_completion'),
    reasoning: sum(rows, 'native_tokens_reasoning'),
    cached: sum(rows, 'native_tokens_cached'),
    written: sum(rows, 'native_tokens_cache_write'),
  }
}

async function assertShown(host: Portico, keys: readonly Key[], rows: readonly Json[]): Promise<void> {
  const read = (path: string, secret: string) => get(host, path, secret).then(({ data }) => data)
  const activity = async (query: string) => {
    const items = (await read(`activity?${query}`, PORTICO_KEYS.management)) as Json[]
    return {
      requests: sum(items, 'requests'),
      cost: items.reduce((sum, { usage }) => sum + nanos(usage), 0),
      prompt: sum(items, 'prompt_tokens'),
      completion: sum(items, 'completion_tokens'),
      reasoning: sum(items, 'reasoning_tokens'),
      cached: sum(items, 'cached_tokens'),
      written: sum(items, 'cache_write_tokens'),
    }
  }
  const all = totals(rows)
  assert.ok(all.cost > 0 && all.cached > 0 && all.written > 0 && all.reasoning > 0)
  assert.deepEqual(await activity(''), all)
  assert.deepEqual(await activity('metadata_key=team'), all)
  const { total_usage: credits } = await read('credits', PORTICO_KEYS.management)
  assert.equal(nanos(credits), all.cost)
  const listed = (await read('keys', PORTICO_KEYS.management)) as Json[]
  for (const { secret, hash, keyId } of keys) {
    const own = totals(rows.filter((row) => row.api_key_id === keyId))
    assert.deepEqual(await activity(`api_key_hash=${hash}`), own)
    const { usage, limit, limit_remaining: left } = await read('key', secret)
    assert.deepEqual([usage, listed.find((key) => key.hash === hash)?.usage].map(nanos), [own.cost, own.cost])
    assert.equal(left, limit === null ? null : (nanos(limit) - own.cost) / 1e9)
  }
  for (const model of new Set(rows.map((row) => row.model))) {
    const items = (await read('activity', PORTICO_KEYS.management)) as Json[]
    const own = totals(rows.filter((row) => row.model === model))
    const shown = items.filter((item) => item.model === model)
    assert.deepEqual([sum(shown, 'requests'), sum(shown, 'prompt_tokens')], [own.requests, own.prompt], model)
  }
}

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'
import { type Answer, DIALECTS, type Dialect } from './dialects.ts'
import { LOSSES } from './losses.ts'
import { type Ending, SAID, type Upstream } from './upstreams/upstream.ts'
import { UPSTREAMS } from './upstreams.ts'

/**
 * Every dialect with every provider: what is requested arrives, and what the provider answers comes back, or it is
 * reported as left out.
 */
let stub: ProviderStub
let portico: Portico

/** Undefined: the providers return what they are scripted to. */
let ending: Ending | undefined

/** Undefined: reported in their own words. */
let scripted: ((response: ServerResponse) => void) | undefined

function answer(response: ServerResponse): void {
  if (scripted !== undefined) {
    scripted(response)
    return
  }
  const { path, body } = stub.seen.at(-1) ?? assert.fail()
  const upstream = UPSTREAMS.find((known) => known.path === path) ?? assert.fail(path)
  const streamed = Object(body).stream === true
  const events = ending === undefined ? upstream.events : upstream.ending(ending)
  const frames = events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  const whole = ending === undefined ? upstream.whole : upstream.ended(ending)
  const say = streamed ? streams(frames.join('')) : answers(200, whole)
  say(response)
}

before(async () => {
  stub = await startStub(answer)
  const providers = UPSTREAMS.map(({ protocol }) => ({
    ...{ id: `up-${protocol}`, protocol, baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream' },
    ...(protocol === 'openai' && { reasoningContent: true }),
  }))
  portico = await openPortico({ PORTICO_CONFIG: providerConfig(providers) })
})

after(async () => {
  await portico[Symbol.asyncDispose]()
  await stub[Symbol.asyncDispose]()
})

interface Asked {
  /** As the provider received it. */
  readonly body: Json
  /** As the client received it. */
  readonly answer: Json
}

async function ask(dialect: Dialect, upstream: Upstream, request: Json, streamed: boolean): Promise<Asked> {
  const { protocol } = upstream
  const model = protocol === 'anthropic' ? 'claude-sonnet-5-5' : 'gpt-5.5'
  const answer = await answered(dialect, { model: `up-${protocol}/${model}`, ...request }, streamed)
  const body = stub.seen.at(-1)?.body as Json
  assert.equal(body.stream, streamed, 'the provider is called the way the client asked')
  return { body, answer }
}

async function answered(dialect: Dialect, request: Json, streamed: boolean): Promise<Json> {
  const full = { ...request, ...(streamed && { stream: true }) }
  const got = await dialect.post(portico, full, { 'x-openrouter-metadata': 'enabled' })
  const text = await got.text()
  assert.equal(got.status, 200, text)
  return streamed ? dialect.fold(text) : JSON.parse(text)
}

const EXPECTED: Omit<Answer, 'leftOut' | 'stop'> = {
  thought: SAID.thought,
  text: SAID.text,
  sources: [SAID.source],
  calls: SAID.calls.map(({ name, arguments: text }) => ({ name, arguments: JSON.parse(text) })),
  inputTokens: SAID.inputTokens,
  outputTokens: SAID.outputTokens,
}

for (const dialect of DIALECTS) {
  for (const streamed of [false, true]) {
    test(`${dialect.name} × echo, ${streamed ? 'streamed' : 'whole'}: the built-in model shows it all`, async () => {
      const ask = async (text: string) => {
        const { leftOut, ...said } = dialect.read(
          await answered(dialect, { model: 'portico/echo', ...dialect.prompt(text) }, streamed),
        )
        assert.deepEqual(leftOut, [])
        return said
      }
      const calls = SAID.calls.map(({ name, arguments: text }) => `/tool ${name} ${text}`).join('\n')
      const called = await ask(`/reasoning ${SAID.thought}\n${calls}`)
      assert.deepEqual([called.thought, called.calls], [SAID.thought, EXPECTED.calls])
      assert.equal(called.stop, dialect.reasons.tools)
      const said = await ask(`/length 2`)
      const usage = { inputTokens: 2, outputTokens: 2 }
      const answer = { thought: '', text: 'the quick', sources: [], calls: [], ...usage }
      assert.deepEqual(said, { ...answer, stop: dialect.reasons.stop })
    })
  }
  for (const upstream of UPSTREAMS) {
    for (const streamed of [false, true]) {
      const form = streamed ? 'streamed' : 'whole'
      const name = `${dialect.name} × ${upstream.protocol}, ${form}`
      test(`${name}: every member of a request and its answer arrives, or is named`, async () => {
        const { body, answer } = await ask(dialect, upstream, dialect.request, streamed)
        const { leftOut, ...said } = dialect.read(answer)
        assert.deepEqual(said, { ...EXPECTED, stop: dialect.reasons.tools })
        // The Responses API has no such setting: there the gateway ends the answer itself.
        const stops = dialect.stops && upstream.protocol !== 'openai-responses'
        assert.deepEqual(upstream.reached(body), {
          ...{ system: true, images: 1, files: 1, results: ['nothing'], tools: ['list', 'read'], schema: true },
          ...{ stop: stops ? ['END'] : [], maxTokens: 500 },
        })
        assert.equal(
          leftOut.some((field) => field.includes('stop')),
          false,
          leftOut.join(),
        )
      })

      test(`${name}: names the members that the provider does not have, and sends it the rest`, async () => {
        for (const { what, add, names, reaches } of LOSSES[dialect.name]) {
          const { body, answer } = await ask(dialect, upstream, add(dialect.request), streamed)
          assert.deepEqual(dialect.read(answer).leftOut, names[upstream.protocol] ?? [], what)
          if (reaches !== undefined) assert.match(JSON.stringify(body), reaches[upstream.protocol], what)
        }
      })

      test(`${name}: an answer that ends early says why`, async (t) => {
        t.after(() => {
          ending = undefined
        })
        for (const why of ['length', 'filter'] as const) {
          ending = why
          const { answer } = await ask(dialect, upstream, dialect.request, streamed)
          const { text, stop } = dialect.read(answer)
          assert.deepEqual([text, stop], ['Lea', dialect.reasons[why]])
        }
      })

      test(`${name}: an answer can be sent back as history, and a signature goes only to the provider that made it`, async () => {
        const { answer } = await ask(dialect, upstream, dialect.request, streamed)
        const request = dialect.next(dialect.request, answer)
        for (const other of UPSTREAMS) {
          const { body } = await ask(dialect, other, request, streamed)
          const { results } = other.reached(body)
          assert.deepEqual(results, ['nothing', 'ok', 'ok'], other.protocol)
          const proofs = UPSTREAMS.flatMap(({ proof }) =>
            proof && JSON.stringify(body).includes(proof) ? [proof] : [],
          )
          assert.deepEqual(proofs, other === upstream && other.proof ? [other.proof] : [], other.protocol)
        }
      })
    }
  }
}

test('the cost that a provider reports is the cost of the answer if no price is configured', async (t) => {
  const cost = 0.0123
  const usage = { prompt_tokens: 20, completion_tokens: 9, cost }
  const choices = [{ message: { content: SAID.text }, finish_reason: 'stop' }]
  t.after(() => {
    scripted = undefined
  })
  scripted = answers(200, { choices, usage })
  for (const dialect of DIALECTS) {
    const answer = await answered(dialect, { model: 'up-openai/unpriced', ...dialect.prompt('Hello') }, false)
    assert.equal(answer.usage.cost, cost, dialect.name)
  }
})

test('the signature of a call of Gemini is sent back in the same member, in every dialect, and to no other provider', async (t) => {
  t.after(() => {
    scripted = undefined
  })
  for (const member of ['google', 'vertex']) {
    const extra_content = { [member]: { thought_signature: 'PROOF-OF-GEMINI' } }
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'list', arguments: '{}' }, extra_content }
    const choice = { index: 0, finish_reason: 'tool_calls' }
    const event = {
      choices: [{ ...choice, delta: { tool_calls: [call] } }],
      usage: { prompt_tokens: 2, completion_tokens: 1 },
    }
    for (const dialect of DIALECTS) {
      for (const streamed of [false, true]) {
        const model = 'up-openai/gemini-3-pro'
        scripted = streamed
          ? streams(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`)
          : answers(200, { ...event, choices: [{ ...choice, message: { tool_calls: [call] } }] })
        const answer = await answered(dialect, { ...dialect.request, model }, streamed)
        const next = dialect.next(dialect.request, answer)
        await answered(dialect, { ...next, model }, streamed)
        const { messages } = Object(stub.seen.at(-1)?.body) as Json
        const called = messages.flatMap(({ tool_calls: calls = [] }: Json) => calls).find(({ id }: Json) => id === 'c1')
        assert.deepEqual(called.extra_content, extra_content, `${dialect.name} ${streamed}`)
        scripted = undefined
        for (const other of ['up-openai/other', 'up-anthropic/claude', 'up-openai-responses/gpt']) {
          await answered(dialect, { ...next, model: other }, streamed)
          assert.ok(!JSON.stringify(stub.seen.at(-1)?.body).includes('PROOF-OF-GEMINI'), `${dialect.name} ${other}`)
        }
      }
    }
  }
})

test('refuses a conversation of which the provider would see nothing before it is sent, in every dialect', async () => {
  const sent = stub.seen.length
  for (const dialect of DIALECTS) {
    const got = await dialect.post(portico, { model: 'up-anthropic/claude', ...dialect.prompt(' ') }, {})
    const { error } = (await got.json()) as Json
    assert.equal(got.status, 400, dialect.name)
    assert.match(error.message, /: (input|messages): must have content besides instructions and blank texts$/)
  }
  assert.equal(stub.seen.length, sent)
})

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import test from 'node:test'
import { responseEvent } from '#gateway/responses/events.ts'
import { responseObject } from '#gateway/responses/response.ts'
import { openPortico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { ask, type Json, stream } from '#test/support/responses.ts'

const FIXTURES = readdirSync(new URL('../fixtures/providers', import.meta.url))
const NAMES = FIXTURES.filter((file) => file.endsWith('.sse')).map((file) => file.slice(0, -4))

function protocolOf(name: string): string {
  if (name.startsWith('anthropic')) return 'anthropic'
  return name.startsWith('responses') ? 'openai-responses' : 'openai'
}

/**
 * A response without what differs between two equal generations: random ids, times, and the spacing of JSON arguments,
 * which some providers send as an object when they do not stream.
 */
function timeless({ id, created_at, completed_at, output, ...rest }: Json): Json {
  assert.ok(Number.isInteger(created_at) && completed_at >= created_at)
  const items = output.map((item: Json) =>
    item.arguments === undefined ? item : { ...item, arguments: JSON.parse(item.arguments) },
  )
  return JSON.parse(JSON.stringify({ ...rest, output: items }).replaceAll(id.slice('resp_'.length), '*'))
}

/** All sources that a response cites. */
function citations({ output }: Json): Json[] {
  return output.flatMap(({ content = [] }: Json) => content.flatMap(({ annotations = [] }: Json) => annotations))
}

test('each streamed fixture has a whole form', () => {
  assert.ok(NAMES.length >= 5)
  for (const name of NAMES) assert.ok(FIXTURES.includes(`${name}.json`), name)
})

for (const name of NAMES) {
  test(`${name}: a generation gives the same response whole and streamed, in every dialect`, async () => {
    await using stub = await startStub((response) => {
      const { stream: streamed } = Object(stub.seen.at(-1)?.body)
      return (streamed === true ? streams(fixture(`${name}.sse`)) : answers(200, fixture(`${name}.json`)))(response)
    })
    const protocol = protocolOf(name)
    const baseURL = protocol === 'anthropic' ? stub.url : `${stub.url}/v1`
    const PORTICO_CONFIG = providerConfig([{ id: 'up', protocol, baseURL, apiKey: 'sk-upstream' }])
    await using portico = await openPortico({ PORTICO_CONFIG })
    const request = { model: 'up/some-model', input: 'Hello', max_output_tokens: 1_000, metadata: { a: 'b' } }
    const whole = await ask(portico, request)
    responseObject.parse(whole)
    assert.ok(whole.output.length > 0)
    if (name.endsWith('-sources')) assert.ok(citations(whole).length > 0)
    for (const dialect of ['openai', 'both']) {
      const events = await stream(portico, request, dialect)
      for (const event of events) responseEvent.parse(event)
      const annotated = events.filter(({ type }) => type === 'response.output_text.annotation.added')
      assert.deepEqual(
        annotated.map(({ annotation }) => annotation),
        citations(whole),
      )
      assert.deepEqual(timeless(events.at(-1)?.response), timeless(whole), dialect)
    }
    const events = await stream(portico, request, 'specification')
    for (const event of events) responseEvent.parse(event)
    const { status, usage } = events.at(-1)?.response ?? assert.fail()
    assert.deepEqual({ status, usage }, { status: whole.status, usage: whole.usage })
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    assert.equal(done.length, whole.output.length)
    const asked = stub.seen.map(({ body }) => (body as { stream?: boolean }).stream === true)
    assert.deepEqual(asked, [false, true, true, true], 'the provider answers the way the client wants')
  })
}

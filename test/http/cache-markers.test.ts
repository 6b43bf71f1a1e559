import assert from 'node:assert/strict'
import test from 'node:test'
import { openAnthropic } from '#test/support/messages.ts'
import { openPortico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'
import { SECOND_PROMPT, startScriptedModel } from '#test/support/scripted-model.ts'

const marker = { type: 'ephemeral' }

/** Where the markers of a request to Anthropic are: `tools 3`, `system 0`, `messages 2 0`. */
function markersOf({ tools, system, messages }: Json): string[] {
  const places: string[] = []
  const look = (place: string, blocks: readonly Json[]): void => {
    for (const [i, block] of blocks.entries()) {
      if (block.cache_control === undefined) continue
      assert.deepEqual(block.cache_control, marker)
      places.push(`${place} ${i === blocks.length - 1 ? 'last' : i}`)
    }
  }
  look('tools', tools)
  look('system', system)
  for (const [i, { content }] of messages.entries()) look(`messages ${i}`, content)
  return places
}

const list = { name: 'list', input: { path: '.' } }

test('each step on Anthropic has its prefix cached: tools, instructions and the two newest turns', async () => {
  await using stub = await startScriptedModel([[[list], [list]], []])
  await using portico = await openAnthropic(stub)
  const { data } = (await (await portico.post('/api/session', { title: 'Test' })).json()) as Json
  for (const text of ['Look around', SECOND_PROMPT]) {
    await portico.post(`/api/session/${data.id}/prompt`, { text })
    await portico.post(`/api/session/${data.id}/wait`, undefined)
  }
  const bodies = stub.seen.map(({ body }) => body as Json).filter(({ tools }) => tools !== undefined)
  const ahead = ['tools last', 'system last']
  assert.deepEqual(bodies.map(markersOf), [
    [...ahead, 'messages 0 last'],
    [...ahead, 'messages 0 last', 'messages 2 last'],
    [...ahead, 'messages 2 last', 'messages 4 last'],
    [...ahead, 'messages 4 last', 'messages 6 last'],
  ])
  // Apart from its markers, each request begins like the one before it.
  const bare = (body: Json): string =>
    JSON.stringify(body, (name, value) => (name === 'cache_control' ? undefined : value))
  for (const [i, { tools, system, messages }] of bodies.slice(1).entries()) {
    const before = bodies[i] as Json
    const same = messages.slice(0, before.messages.length)
    const begun = { tools: before.tools, system: before.system, messages: before.messages }
    assert.equal(bare({ tools, system, messages: same }), bare(begun))
  }
})

test('an unknown server of chat completions gets no cache markers', async () => {
  await using stub = await startStub(streams(chunk({ content: 'Hi' }) + chatEnd()))
  const local = { id: 'local', protocol: 'openai', baseURL: `${stub.url}/v1`, models: [{ id: 'm' }] }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([local]) })
  const { data } = (await (await portico.post('/api/session', { title: 'Test' })).json()) as Json
  await portico.post(`/api/session/${data.id}/prompt`, { text: 'Hello' })
  await portico.post(`/api/session/${data.id}/wait`, undefined)
  assert.equal(stub.seen.length, 1)
  assert.doesNotMatch(JSON.stringify(stub.seen[0]?.body), /cache_control/)
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { askChat } from '#test/support/chat.ts'
import { openPortico } from '#test/support/portico.ts'
import { send } from '#test/support/presets.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

const FORMATS = ['wav', 'mp3', 'flac', 'm4a', 'ogg', 'aac', 'aiff', 'opus', 'pcm16', 'pcm24']
/** By provider, the formats that its dialect has. */
const TAKEN = { openai: ['wav', 'mp3'], openrouter: FORMATS, somebody: FORMATS }

test('sound reaches a provider in its format; sound that its dialect cannot carry is left out and named', async () => {
  await using stub = await startStub(answers(200, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }))
  const shared = { protocol: 'openai', baseURL: stub.url, apiKey: 'sk-upstream', models: [{ id: 'm' }] }
  const providers = Object.keys(TAKEN).map((id) => ({ id, ...shared }))
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig(providers) })
  for (const [id, taken] of Object.entries(TAKEN)) {
    for (const format of FORMATS) {
      const text = { type: 'text', text: 'What is this?' }
      const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format } }
      const request = { model: `${id}/m`, messages: [{ role: 'user', content: [text, sound] }] }
      const answer = await askChat(portico, request, { 'x-openrouter-metadata': 'enabled' })
      const { messages } = Object(stub.seen.at(-1)?.body)
      const isTaken = taken.includes(format)
      assert.deepEqual(messages[0].content.slice(1), isTaken ? [sound] : [], `${id} ${format}`)
      const names = (answer.openrouter_metadata.pipeline ?? []).map(({ name }: Json) => name)
      assert.equal(names.length, isTaken ? 0 : 1, `${id} ${format}`)
    }
  }
})

test('400: a conversation whose whole content is left out is not sent', async () => {
  await using stub = await startStub(answers(200, {}))
  const shared = { baseURL: stub.url, apiKey: 'sk-upstream', models: [{ id: 'm' }] }
  const providers = [
    { id: 'openai', protocol: 'openai', ...shared },
    { id: 'other', protocol: 'openai-responses', ...shared },
  ] as const
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig(providers) })
  const content = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'm4a' } }]
  for (const { id } of providers) {
    const { status, json } = await send(portico, '/chat/completions', {
      model: `${id}/m`,
      messages: [{ role: 'user', content }],
    })
    const message = 'Invalid request parameters: messages: must have content that this provider supports'
    assert.deepEqual([status, json.error.message], [400, message], id)
  }
  assert.equal(stub.seen.length, 0)
})

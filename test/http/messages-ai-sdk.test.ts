import assert from 'node:assert/strict'
import test from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { openAnthropic } from '#test/support/messages.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { fixture, startStub, streams } from '#test/support/provider-stub.ts'

const say = (text: string) => ({ prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }] })

function modelOf({ url }: Portico, model: string) {
  return createAnthropic({ apiKey: PORTICO_KEYS.api, baseURL: `${url}/api/v1` })(model)
}

test('the AI SDK’s provider for Anthropic generates and streams', async () => {
  await using portico = await openPortico()
  const model = modelOf(portico, 'portico/echo')
  const whole = await model.doGenerate(say('/length 3'))
  assert.deepEqual(
    whole.content.map((part) => part.type === 'text' && part.text),
    ['the quick brown'],
  )
  assert.equal(whole.finishReason.unified, 'stop')
  const { stream } = await model.doStream(say('/reasoning so be it\n/length 3'))
  const types = new Set<string>()
  let text = ''
  for await (const part of stream) {
    types.add(part.type)
    if (part.type === 'error') assert.fail(String(part.error))
    if (part.type === 'text-delta') text += part.delta
  }
  assert.equal(text, 'the quick brown')
  for (const type of ['reasoning-start', 'reasoning-delta', 'reasoning-end', 'finish']) assert.ok(types.has(type), type)
})

test('a stream of Anthropic reaches the AI SDK in parts that it knows', async () => {
  await using stub = await startStub(streams(fixture('anthropic-tools.sse')))
  await using portico = await openAnthropic(stub)
  const tool = (name: string) => ({ type: 'function' as const, name, inputSchema: { type: 'object' as const } })
  const { stream } = await modelOf(portico, 'anthropic/claude-sonnet-5-5').doStream({
    ...say('x'),
    tools: [tool('list'), tool('now')],
  })
  const calls: [string, string][] = []
  for await (const part of stream) {
    if (part.type === 'error') assert.fail(String(part.error))
    if (part.type === 'tool-call') calls.push([part.toolName, part.input])
    if (part.type === 'finish') {
      assert.equal(part.finishReason.unified, 'tool-calls')
      assert.equal(part.usage.inputTokens.total, 1_112)
    }
  }
  assert.deepEqual(calls, [
    ['list', '{"path": "."}'],
    ['now', '{}'],
  ])
})

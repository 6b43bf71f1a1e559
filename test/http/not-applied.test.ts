import assert from 'node:assert/strict'
import test from 'node:test'
import { DIALECTS } from '#test/support/client.ts'
import { ask, notApplied } from '#test/support/not-applied.ts'
import { openPortico } from '#test/support/portico.ts'
import { created } from '#test/support/presets.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, fixture, startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

test('max_tool_calls reaches providers that have it, by every dialect, a preset of any dialect or the request over it', async () => {
  await using stub = await startStub(answers(200, fixture('responses-text.json')))
  const models = [{ id: 'gpt-5.5' }]
  const openai = {
    id: 'openai',
    protocol: 'openai-responses',
    baseURL: `${stub.url}/v1`,
    apiKey: 'sk-upstream',
    models,
  }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([openai]) })
  for (const maker of Object.keys(DIALECTS)) {
    await created(portico, 'p', maker, { model: 'openai/gpt-5.5', max_tool_calls: 3 })
    for (const dialect of Object.keys(DIALECTS)) {
      const most = async (more: object): Promise<unknown[]> => {
        const { json: answer } = await ask(portico, dialect, { model: '@preset/p', ...more })
        assert.deepEqual(notApplied(answer), [])
        const sent = stub.seen.at(-1)?.body as Json
        return [sent.max_tool_calls, answer.max_tool_calls]
      }
      const shown = (value: number) => (dialect === 'responses' ? value : undefined)
      assert.deepEqual(await most({}), [3, shown(3)], `${maker} by ${dialect}`)
      assert.deepEqual(await most({ max_tool_calls: 5 }), [5, shown(5)], `${maker} by ${dialect}`)
    }
  }
})

test('max_tool_calls is named as not applied if the provider does not have it, in a request and in a preset', async () => {
  await using stub = await startStub(answers(200, fixture('openai-text.json')))
  const models = [{ id: 'gpt-5.5' }]
  const openai = { id: 'openai', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([openai]) })
  for (const dialect of Object.keys(DIALECTS)) {
    await created(portico, 'p', dialect, { model: 'openai/gpt-5.5', max_tool_calls: 3 })
    for (const body of [{ model: '@preset/p' }, { model: 'openai/gpt-5.5', max_tool_calls: 5 }]) {
      assert.deepEqual(notApplied((await ask(portico, dialect, body)).json), ['max_tool_calls'], dialect)
      const sent = stub.seen.at(-1)?.body as Json
      assert.equal(sent.max_tool_calls, undefined)
    }
  }
})

test('maximum prices of units that a model does not price are named as not applied', async () => {
  await using portico = await openPortico()
  const prices = { request: 0.01, image: '0.02', audio: 1 }
  const provider = { max_price: { ...prices, prompt: 1 } }
  const names = ['request', 'image', 'audio'].map((name) => `provider.max_price.${name}`)
  for (const dialect of Object.keys(DIALECTS)) {
    assert.deepEqual(
      notApplied((await ask(portico, dialect, { model: 'portico/echo', provider })).json),
      names,
      dialect,
    )
    await created(portico, 'p', dialect, { model: 'portico/echo', provider })
    assert.deepEqual(notApplied((await ask(portico, dialect, { model: '@preset/p' })).json), names, dialect)
  }
})

test('a picture is decoded once, however many thoughts of another provider beside it are named', async (t) => {
  await using stub = await startStub(answers(200, fixture('openai-text.json')))
  const models = [{ id: 'gpt-5.5' }]
  const openai = { id: 'openai', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([openai]) })
  const data = Buffer.from('a picture').toString('base64')
  const url = `data:image/png;base64,${data}`
  const format = 'anthropic-claude-v1'
  const numbers = [0, 1, 2]
  const bodies = {
    responses: {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: url }] },
        ...numbers.map((i) => ({ type: 'reasoning', id: `r${i}`, summary: [], encrypted_content: `e${i}`, format })),
        { role: 'user', content: 'Go on' },
      ],
    },
    'chat/completions': {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
        ...numbers.map((i) => ({
          role: 'assistant',
          content: 'Hm',
          reasoning_details: [{ type: 'reasoning.encrypted', data: `e${i}`, format }],
        })),
        { role: 'user', content: 'Go on' },
      ],
    },
    messages: {
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] },
        { role: 'assistant', content: numbers.map((i) => ({ type: 'redacted_thinking', data: `e${i}` })) },
        { role: 'user', content: 'Go on' },
      ],
    },
  }
  const names = {
    responses: ['input.1', 'input.2', 'input.3'],
    'chat/completions': numbers.map((i) => `messages.${i + 1}.reasoning_details.0`),
    messages: numbers.map((i) => `messages.1.content.${i}`),
  }
  for (const dialect of ['responses', 'chat/completions', 'messages'] as const) {
    const from = t.mock.method(Buffer, 'from')
    const { json: answer } = await ask(portico, dialect, { model: 'openai/gpt-5.5', ...bodies[dialect] })
    const decoded = from.mock.calls.filter(({ arguments: [text] }) => (text as unknown) === data)
    from.mock.restore()
    assert.deepEqual(notApplied(answer).slice(0, 3), names[dialect], dialect)
    assert.equal(decoded.length, 1, dialect)
  }
})

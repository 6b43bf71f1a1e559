// Thoughts of OpenRouter's reach a client of chat completions, and OpenRouter again, each as it was made.
import assert from 'node:assert/strict'
import test from 'node:test'
import { askChat, foldChunks, streamChat } from '#test/support/chat.ts'
import { openPortico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'

const format = 'anthropic-claude-v1'
const text = (text: string, rest: object = {}): Json => ({ type: 'reasoning.text', text, format, ...rest })
const summary = (summary: string, rest: object = {}): Json => ({ type: 'reasoning.summary', summary, format, ...rest })

/** Details that a provider sends, and those that arrive, if they differ. */
const CASES: Readonly<Record<string, readonly [sent: readonly Json[], got?: readonly Json[]]>> = {
  'by number': [[text('A', { signature: 's1', index: 0 }), text('B', { signature: 's2', index: 1 })]],
  'after a signature': [[text('A', { signature: 's1', index: 0 }), text('B', { signature: 's2', index: 0 })]],
  'after a signature without numbers': [[text('A', { signature: 's1' }), text('B')]],
  'by number alone': [[text('A', { index: 0 }), text('B', { index: 1 })]],
  'by id': [[text('A', { id: 'r1' }), text('B', { id: 'r2' })]],
  'by format': [[text('A'), { ...text('B'), format: 'google-gemini-v1' }]],
  'by kind': [[summary('S', { index: 0 }), text('T', { index: 0 }), summary('U', { index: 0 })]],
  'in pieces': [
    [text('A', { index: 0 }), text('B', { index: 0 }), text('', { signature: 's1', index: 0 })],
    [text('AB', { signature: 's1' })],
  ],
  'with a signature in pieces': [
    [text('A', { signature: 's1' }), text('', { signature: 's2' }), text('B', { signature: 's3', index: 0 })],
    [text('A', { signature: 's1s2' }), text('B', { signature: 's3' })],
  ],
}

const withoutNumber = ({ index: _, ...detail }: Json): Json => detail

test('several thoughts remain several, with the proof of each, streamed and whole, and go back as they came', async () => {
  let details: readonly Json[] = []
  const stub = await startStub((response) => {
    const words = details.map((detail) => detail.text ?? detail.summary).join('')
    const said = { content: 'Hi', reasoning: words, reasoning_details: details }
    const pieces = details.map((detail) =>
      chunk({ content: '', reasoning: detail.text ?? detail.summary, reasoning_details: [detail] }),
    )
    const { stream } = Object(stub.seen.at(-1)?.body)
    if (stream === true) streams(pieces.join('') + chunk({ content: 'Hi' }) + chatEnd())(response)
    else answers(200, { choices: [{ message: said, finish_reason: 'stop' }] })(response)
  })
  await using _stub = stub
  const provider = {
    ...{ id: 'openrouter', protocol: 'openai', baseURL: stub.url, apiKey: 'sk-upstream' },
    models: [{ id: 'm' }],
  }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
  const asked = { role: 'user', content: 'Hello' }
  const request = { model: 'openrouter/m', messages: [asked] }
  for (const [name, [sent, got = sent.map(withoutNumber)]] of Object.entries(CASES)) {
    details = sent
    const whole = (await askChat(portico, request)).choices[0].message
    assert.deepEqual(whole.reasoning_details.map(withoutNumber), got, name)
    const chunks = await streamChat(portico, request)
    const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? [])
    for (const reasoning_details of [whole.reasoning_details, pieces]) {
      const said = { role: 'assistant', content: foldChunks(chunks).content, reasoning_details }
      await askChat(portico, { ...request, messages: [asked, said, asked] })
      const { messages } = Object(stub.seen.at(-1)?.body)
      assert.deepEqual(messages[1].reasoning_details, got, name)
    }
  }
})

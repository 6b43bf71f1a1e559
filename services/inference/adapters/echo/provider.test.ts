// A process of its own: it measures how long the event loop is blocked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  FinishReason,
  type Message,
  ToolChoice_Mode as Mode,
  Message_Role as Role,
  type Tool,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import { eventsOf, flat, generationRequest, message, part, type RequestInit } from '#test/support/generation.ts'
import { heldDuring, MOST_HELD_MS } from '#test/support/held.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { EchoProvider } from './provider.ts'

const echo = new EchoProvider('portico')
const path = { type: 'object', properties: { path: { type: 'string' } } }
const tool = (name: string, parameters: Tool['parameters'] = path) => create(ToolSchema, { name, parameters })
const files = [tool('list'), tool('read'), tool('bash')]
const user = (text: string) => message(Role.USER, part('text', { text }))

interface Turn {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly (readonly [string, string])[]
  readonly callIds: readonly string[]
  readonly reason: FinishReason | undefined
}

/** The result of one turn. */
async function turn(messages: Message[], request: RequestInit = {}): Promise<Turn> {
  const events = await eventsOf(echo, { messages, ...request })
  const parts = events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  const calls = parts.filter((part) => part.case === 'toolCall')
  const text = (type: string): string => parts.map((part) => (part.case === type ? part.text : '')).join('')
  const end = events.at(-1)
  return {
    text: text('text'),
    reasoning: text('reasoning'),
    calls: calls.map((call) => [call.name, call.arguments] as const),
    callIds: calls.map(({ callId }) => callId),
    reason: end?.reason,
  }
}

/** The conversation after its calls were answered. */
function answered(
  messages: Message[],
  { calls, callIds }: Turn,
  answers: readonly string[],
  failed = false,
): Message[] {
  const made = calls.map(([name, args], i) => {
    return part('toolCall', { callId: callIds[i] ?? '', name, arguments: args })
  })
  const results = answers.map((text, i) => {
    return part('toolResult', { callId: callIds[i] ?? '', content: [part('text', { text })], failed })
  })
  return [...messages, message(Role.ASSISTANT, ...made), message(Role.TOOL, ...results)]
}

test('echoes the prompt and says what it is when there are no tools', async () => {
  const { text, reason } = await turn([user('Earlier'), user('How are you?\n')])
  assert.equal(text, 'This is portico/echo, the built-in model that needs no network. You said: How are you?')
  assert.equal(reason, FinishReason.STOP)
})

test('the same request has the same answer, in one batch, with a delta for each word', async () => {
  const batches: (readonly ProviderEvent[])[] = []
  const signal = new AbortController().signal
  for await (const batch of echo.stream(generationRequest(), signal)) batches.push(batch)
  assert.equal(batches.length, 1)
  assert.deepEqual(await eventsOf(echo), flat(batches[0] ?? []))
  const words = flat(batches[0] ?? []).flatMap((event) => (event.case === 'partExtended' ? [event.text] : []))
  assert.deepEqual(words.slice(0, 3), ['This ', 'is ', 'portico/echo, '])
})

test('/tool lines are called in one step, and the next step answers with their results', async () => {
  const messages = [user('/tool list {"path": "src"}\n/tool bash\nand then?')]
  const first = await turn(messages, { tools: files })
  assert.deepEqual(first.calls, [
    ['list', '{"path": "src"}'],
    ['bash', '{}'],
  ])
  assert.deepEqual([first.text, first.reason, new Set(first.callIds).size], ['', FinishReason.TOOL_CALLS, 2])
  const second = await turn(answered(messages, first, ['a\nb', 'done']), { tools: files })
  assert.deepEqual(
    [second.text, second.calls, second.reason],
    ['list returned:\na\nb\n\nbash returned:\ndone', [], FinishReason.STOP],
  )
  const failed = await turn(answered(messages, first, ['no', 'no'], true), { tools: files })
  assert.equal(failed.text, 'list failed:\nno\n\nbash failed:\nno')
})

test('/tool lines are called one per step if parallel calls are off', async () => {
  const messages = [user('/tool list\n/tool read broken{')]
  const alone = { tools: files, parallelToolCalls: false }
  const first = await turn(messages, alone)
  assert.deepEqual(first.calls, [['list', '{}']])
  const second = await turn(answered(messages, first, ['a']), { ...alone, requestId: 'req_2' })
  assert.deepEqual(second.calls, [['read', 'broken{']])
  assert.notEqual(first.callIds[0], second.callIds[0])
})

test('a call that was made is not made again when a tool of the same prompt is offered later', async () => {
  const messages = [user('/tool late\n/tool list')]
  const first = await turn(messages, { tools: files })
  assert.deepEqual(first.calls, [['list', '{}']])
  const second = await turn(answered(messages, first, ['a']), { tools: [tool('late'), ...files] })
  assert.deepEqual(second.calls, [['late', '{}']])
})

test('only tools that are offered and allowed are called', async () => {
  const said = 'The tool list is not available.'
  assert.deepEqual((await turn([user('/tool list')])).text, said)
  assert.deepEqual((await turn([user('/tool list')], { tools: files, toolChoice: { mode: Mode.NONE } })).text, said)
  const named = { tools: files, toolChoice: { mode: Mode.NAMED, name: 'bash' } } as const
  assert.deepEqual((await turn([user('/tool list')], named)).calls, [['bash', '{}']])
})

test('a demanded call is made', async () => {
  const request = { tools: [tool('weather')], toolChoice: { mode: Mode.REQUIRED } } as const
  const { calls, reason } = await turn([user('Hello')], request)
  assert.deepEqual([calls, reason], [[['weather', '{}']], FinishReason.TOOL_CALLS])
})

test('a question about a project lists the directory, reads the README, and is answered from both', async () => {
  const ask = [user('What is this project?')]
  const first = await turn(ask, { tools: files, requestId: 'req_1' })
  assert.deepEqual(first.calls, [['list', '{"path":"."}']])
  const listed = answered(ask, first, ['docs/\nREADME.md\nsrc/'])
  const second = await turn(listed, { tools: files, requestId: 'req_2' })
  assert.deepEqual(second.calls, [['read', '{"path":"README.md"}']])
  const readme = '1: # Weather\n2: \n3: ![badge](x)\n4: \n5: Shows the weather,\n6: plainly.\n7: \n8: More.'
  const third = await turn(answered(listed, second, [readme]), { tools: files, requestId: 'req_3' })
  assert.equal(
    third.text,
    'The directory contains docs/, README.md, src/.\n\n' +
      'Its README is called “Weather” and begins: Shows the weather, plainly.\n\n' +
      'I am portico/echo, the built-in model: I need no network and only follow a script. For a real model, set ' +
      'OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY or OLLAMA_HOST, or name a file in PORTICO_CONFIG, and start again.',
  )
  assert.deepEqual([third.calls, third.reason], [[], FinishReason.STOP])
})

test('a project without a README, or that it may not look into, is described as such', async () => {
  const ask = [user('What is this project?')]
  const first = await turn(ask, { tools: files })
  const bare = await turn(answered(ask, first, ['a.txt']), { tools: files })
  assert.match(bare.text, /^The directory contains a\.txt\.\n\nIt has no README\./)
  const empty = await turn(answered(ask, first, ['(the directory is empty)']), { tools: files })
  assert.match(empty.text, /^The directory is empty\./)
  const refused = await turn(answered(ask, first, ['denied'], true), { tools: files })
  assert.match(refused.text, /^I could not list the directory\./)
})

test('/length answers with exactly that number of words; a limit of tokens cuts any answer', async () => {
  const words = async (text: string, maxOutputTokens?: number): Promise<[number, FinishReason | undefined]> => {
    const { text: said, reasoning, reason } = await turn([user(text)], { maxOutputTokens })
    return [`${reasoning} ${said}`.split(/\s+/).filter(Boolean).length, reason]
  }
  assert.deepEqual(await words('/length 40'), [40, FinishReason.STOP])
  assert.deepEqual(await words('/length 0'), [0, FinishReason.STOP])
  assert.deepEqual(await words('/length 40', 40), [40, FinishReason.STOP])
  assert.deepEqual(await words('/length 40', 39), [39, FinishReason.LENGTH])
  assert.deepEqual(await words('/reasoning one two\n/length 40', 2), [2, FinishReason.LENGTH])
  assert.deepEqual(await words('Hello', 3), [3, FinishReason.LENGTH])
})

test('a structured answer is the JSON object that the prompt is, else an empty one', async () => {
  const formats = [
    { case: 'jsonSchema', value: { name: 'n', schema: {}, strict: true } },
    { case: 'jsonObject', value: {} },
  ] as const
  for (const format of formats) {
    const answer = async (prompt: string) => (await turn([user(prompt)], { responseFormat: { format } })).text
    assert.deepEqual(await Promise.all(['{"a": 1}', 'Hello', '[1]'].map(answer)), ['{"a": 1}', '{}', '{}'])
  }
})

test('/fail fails before the first word, or after a number of words, like a provider that responds with that status', async () => {
  const fail = async (text: string): Promise<string[]> => {
    const said: string[] = []
    const generate = async (): Promise<void> => {
      const request = generationRequest({ messages: [user(text)] })
      for await (const batch of echo.stream(request, new AbortController().signal)) {
        for (const { event } of batch) if (event.case === 'partExtended') said.push(event.value.text)
      }
    }
    await assert.rejects(generate(), reasonOfRejection('PROVIDER_RATE_LIMITED'))
    return said
  }
  assert.deepEqual(await fail('/fail 429'), [])
  assert.deepEqual(await fail('/fail 429 after 2'), ['This ', 'is '])
  assert.equal((await fail('/fail 429 after 50')).length, 10)
})

test('/slow is a batch a word, and its pause ends with the caller', async () => {
  const controller = new AbortController()
  const request = generationRequest({ messages: [user('/slow 1\nHello')] })
  let batches = 0
  for await (const _ of echo.stream(request, controller.signal)) batches++
  assert.equal(batches, 14)
  const reason = new Error('gone')
  const slow = eventsOf(echo, { messages: [user('/slow 60000\nHello')] }, controller.signal)
  controller.abort(reason)
  await assert.rejects(slow, (error) => error === reason)
})

test('counts a token for each word, tool name and picture, also of an answer that is cut', async () => {
  const parts = [
    part('text', { text: ' a  b\nc ' }),
    part('image', { source: { case: 'url', value: 'https://x.test' } }),
  ] as const
  const events = await eventsOf(echo, { messages: [{ role: Role.USER, parts }], maxOutputTokens: 5 })
  assert.deepEqual(
    events.filter(({ case: name }) => name === 'usage'),
    [
      {
        case: 'usage',
        usage: { inputTokens: 4n, outputTokens: 5n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n },
      },
    ],
  )
})

test('a long answer lets others work', async () => {
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  await turn([user('/length 10000')])
  clearImmediate(next)
  assert.ok(turns >= 9, `${turns} turns of the event loop`)
})

test('only the first 10,000 lines may hold commands; the rest is text', async () => {
  const padding = '\n'.repeat(9_999)
  assert.deepEqual((await turn([user(`${padding}/reasoning thought`)])).reasoning, 'thought')
  const later = await turn([user(`/reasoning thought\n${padding}/reasoning more\n/length 2\nend`)])
  assert.equal(later.reasoning, 'thought')
  assert.match(later.text, /You said: \/reasoning more\n\/length 2\nend$/)
})

test('a token is at most 300 characters between what a regular expression counts as white space', async () => {
  const codes = Array.from({ length: 0x10000 }, (_, code) => code)
  const text = codes.map((code) => `a${String.fromCharCode(code)}`).join('')
  const usage = (await eventsOf(echo, { messages: [user(text)] })).findLast((event) => event.case === 'usage')
  assert.equal(usage?.case === 'usage' && usage.usage.inputTokens, BigInt(text.match(/\S{1,300}/g)?.length ?? 0))
})

test('questions of 30 MB delay nobody, whatever they consist of', async () => {
  for (const text of [
    '\n'.repeat(30e6),
    '/reasoning x\n'.repeat(2e6),
    '/length 2\n'.repeat(3e6),
    '\u{1f600}'.repeat(7e6),
  ]) {
    for (const responseFormat of [undefined, { format: { case: 'jsonObject', value: {} } } as const]) {
      const held = await heldDuring(() =>
        eventsOf(echo, { messages: [user(text)], ...(responseFormat && { responseFormat }) }),
      )
      assert.ok(held < MOST_HELD_MS, `${text.slice(0, 12)}: ${held} ms`)
    }
  }
})

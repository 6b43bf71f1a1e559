import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolChoice_Mode as Mode, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, message, part, type RequestInit } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { ANTHROPIC } from './extension.ts'
import { anthropicBody } from './request.ts'
import { anthropicWarnings } from './warnings.ts'

const tool = { name: 'find', parameters: undefined, strict: undefined }
const search = { type: 'web_search_20250305', name: 'web_search' }
const own = { format: ANTHROPIC, definition: search }
const others = { format: 'openai-responses-v1', definition: { type: 'web_search' } }

/** The body of a request, and the warnings about what it lacks. */
function sent(request: RequestInit) {
  const whole = generationRequest({ modelId: 'claude-sonnet-5-5', ...request })
  return { body: anthropicBody(whole), left: anthropicWarnings(whole).map(({ field }) => field) }
}

test('a model does not think when a call is required, which the API would refuse, and the setting is named', () => {
  const asked = { tools: [tool], reasoning: { effort: 'high' } }
  for (const toolChoice of [{ mode: Mode.REQUIRED }, { mode: Mode.NAMED, name: 'find' }] as const) {
    const { body, left } = sent({ ...asked, toolChoice })
    assert.deepEqual([body.thinking, body.output_config, left], [undefined, { effort: 'high' }, ['reasoning']])
    const budget = sent({ ...asked, toolChoice, modelId: 'claude-sonnet-4-5', reasoning: { maxTokens: 2_000 } })
    assert.deepEqual(
      [budget.body.thinking, budget.body.output_config, budget.left],
      [undefined, undefined, ['reasoning']],
    )
  }
  assert.deepEqual(sent({ ...asked, toolChoice: { mode: Mode.AUTO } }).body.thinking, { type: 'adaptive' })
  // A caller that uses the API's own words gets its response.
  const thinking = { type: 'adaptive' }
  const extensions = [{ format: ANTHROPIC, headers: {}, body: { thinking } }]
  assert.deepEqual(sent({ ...asked, extensions, toolChoice: { mode: Mode.REQUIRED } }).body.thinking, thinking)
})

test('a required call is refused when no tool of this provider can meet it', () => {
  for (const [toolChoice, hostedTools] of [
    [{ mode: Mode.REQUIRED }, [others]],
    [{ mode: Mode.HOSTED, name: 'web_search' }, [others]],
    [{ mode: Mode.HOSTED, name: 'web_search' }, [others, own]],
    [{ mode: Mode.NAMED, name: 'web_search' }, [others]],
  ] as const) {
    const refused = reasonOfRejection('REQUEST_INVALID', {
      field: 'tool_choice',
      problem: 'demands a tool that this provider does not have',
    })
    assert.throws(() => sent({ toolChoice, hostedTools }), refused)
  }
  const toolChoice = { mode: Mode.NAMED, name: 'web_search' } as const
  assert.deepEqual(sent({ toolChoice, hostedTools: [own] }).body.tool_choice, { type: 'tool', name: 'web_search' })
  assert.equal(sent({ toolChoice: { mode: Mode.AUTO }, hostedTools: [others] }).body.tools, undefined)
})

test('stop texts of white space, which the API would refuse, are left out and named', () => {
  const some = sent({ sampling: { stop: ['\n', 'END', ' '] } })
  assert.deepEqual([some.body.stop_sequences, some.left], [['END'], ['sampling.stop']])
  const none = sent({ sampling: { stop: ['\n\n'] } })
  assert.deepEqual([none.body.stop_sequences, none.left], [undefined, ['sampling.stop']])
})

test('later models take a temperature alone; a top_p beside it is left out, and named unless it changes nothing', () => {
  for (const [modelId, topP, taken, left] of [
    ['claude-sonnet-4-5-20250929', 0.5, undefined, ['sampling.top_p']],
    ['claude-opus-4-1', 1, undefined, []],
    ['claude-sonnet-4-6', 0.5, undefined, ['sampling.top_p']],
    ['claude-sonnet-4-20250514', 0.5, 0.5, []],
    ['claude-3-7-sonnet-latest', 0.5, 0.5, []],
    ['glm-5', 0.5, 0.5, []],
  ] as const) {
    const both = sent({ modelId, sampling: { temperature: 0.25, topP } })
    assert.deepEqual([both.body.temperature, both.body.top_p, both.left], [0.25, taken, left], modelId)
    assert.equal(sent({ modelId, sampling: { topP } }).body.top_p, topP)
  }
})

test('the latest models take no sampling settings and no budget for thinking; both are left out and named', () => {
  for (const modelId of [
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-sonnet-5',
    'claude-opus-5-5',
    'claude-fable-5-1',
  ]) {
    const all = sent({ modelId, sampling: { temperature: 0.5, topP: 0.5, topK: 3, stop: ['END'] } })
    const { temperature, top_p, top_k, stop_sequences } = all.body
    assert.deepEqual([temperature, top_p, top_k, stop_sequences], [undefined, undefined, undefined, ['END']])
    assert.deepEqual(all.left, ['sampling.temperature', 'sampling.top_p', 'sampling.top_k'])
    assert.deepEqual(sent({ modelId, sampling: { temperature: 1, topP: 1 } }).left, [])
    const thinking = sent({ modelId, reasoning: { effort: 'low', maxTokens: 2_000 } })
    assert.deepEqual([thinking.body.thinking, thinking.body.output_config], [{ type: 'adaptive' }, { effort: 'low' }])
    assert.deepEqual(thinking.left, ['reasoning.max_tokens'])
  }
  const dated = { modelId: 'claude-opus-4-20250514', sampling: { temperature: 0.5, topP: 0.5, topK: 3 } }
  const { temperature, top_p, top_k } = sent(dated).body
  assert.deepEqual([temperature, top_p, top_k, sent(dated).left], [0.5, 0.5, 3, []])
  const earlier = sent({ modelId: 'claude-sonnet-4-6', reasoning: { maxTokens: 2_000 } })
  assert.deepEqual(earlier.body.thinking, { type: 'enabled', budget_tokens: 2_000 })
})

test('a model that cannot think is sent no setting for thinking, and the setting is named', () => {
  for (const modelId of ['claude-3-opus-20240229', 'claude-3-5-sonnet-20241022', 'claude-3-5-haiku-latest']) {
    for (const reasoning of [{ effort: 'high' }, { maxTokens: 2_000 }]) {
      const { body, left } = sent({ modelId, reasoning })
      assert.deepEqual([body.thinking, body.output_config, left], [undefined, undefined, ['reasoning']], modelId)
    }
    const none = sent({ modelId, reasoning: { effort: 'none' } })
    assert.deepEqual([none.body.thinking, none.left], [undefined, []], modelId)
  }
  for (const modelId of ['claude-3-7-sonnet-20250219', 'claude-opus-4-20250514', 'claude-sonnet-4-20250514']) {
    const { body, left } = sent({ modelId, reasoning: { effort: 'low' } })
    assert.deepEqual([body.thinking, left], [{ type: 'enabled', budget_tokens: 4_096 }, []], modelId)
  }
})

test('an effort that the model does not know is replaced by the next one that it knows, and named', () => {
  for (const [modelId, effort, taken] of [
    ['claude-opus-4-6', 'xhigh', 'high'],
    ['claude-sonnet-4-6', 'xhigh', 'high'],
    ['claude-mythos-preview', 'xhigh', 'high'],
    ['claude-opus-4-6', 'max', 'max'],
    ['claude-opus-4-7', 'xhigh', 'xhigh'],
    ['claude-sonnet-5', 'xhigh', 'xhigh'],
    ['claude-opus-5-5', 'minimal', 'low'],
  ] as const) {
    const { body, left } = sent({ modelId, reasoning: { effort } })
    const said = taken === effort ? [] : ['reasoning.effort']
    assert.deepEqual([body.output_config, left], [{ effort: taken }, said], `${modelId} ${effort}`)
  }
})

test('instructions between turns stay where models take them, and go before the conversation where they do not', () => {
  const say = (role: Role, ...texts: string[]) => message(role, ...texts.map((text) => part('text', { text })))
  const addition = { type: 'tool_addition', tool: { name: 'find' } }
  const searching = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const messages: RequestInit['messages'] = [
    say(Role.SYSTEM, 'Be brief.'),
    say(Role.USER, 'a'),
    say(Role.SYSTEM, 'b'),
    { role: Role.SYSTEM, parts: [part('foreign', { format: ANTHROPIC, item: addition })] },
    say(Role.ASSISTANT, 'c'),
    say(Role.SYSTEM, 'misplaced'),
    say(Role.USER, 'd'),
    { role: Role.ASSISTANT, parts: [part('foreign', { format: ANTHROPIC, item: searching })] },
    { ...say(Role.SYSTEM, 'e'), providerMetadata: { [ANTHROPIC]: { clear_at: 'next_user_message' } } },
  ]
  const text = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }))
  const placed = {
    system: text('Be brief.', 'misplaced'),
    messages: [
      { role: 'user', content: text('a') },
      { role: 'system', content: [...text('b'), addition] },
      { role: 'assistant', content: text('c') },
      { role: 'user', content: text('d') },
      { role: 'assistant', content: [searching] },
      { clear_at: 'next_user_message', role: 'system', content: text('e') },
    ],
  }
  const beta = {
    format: ANTHROPIC,
    headers: { 'anthropic-beta': 'x,mid-conversation-system-2026-04-07' },
    body: undefined,
  }
  for (const request of [{ modelId: 'claude-opus-4-8' }, { modelId: 'claude-sonnet-5', extensions: [beta] }]) {
    const { body, left } = sent({ ...request, messages })
    assert.deepEqual({ system: body.system, messages: body.messages }, placed)
    assert.deepEqual(left, ['messages[5]'])
  }
  for (const modelId of ['claude-opus-4-7', 'claude-opus-4-20250514']) {
    const moved = sent({ modelId, messages })
    assert.deepEqual(moved.body.system, [...text('Be brief.', 'b'), addition, ...text('misplaced', 'e')])
    assert.deepEqual(moved.left, ['messages[2]'])
  }
})

test('files that are neither text nor PDF are left out and named', () => {
  const file = (mime: string | undefined, ...bytes: number[]) =>
    part('file', { source: { case: 'data', value: Uint8Array.from(bytes) }, mime })
  const text = part('text', { text: 'x' })
  const archive = file('application/zip', 0x50, 0x4b, 0xff, 0xfe)
  const linked = part('file', { source: { case: 'url', value: 'https://a.test/a.docx' } })
  const inline = part('file', { source: { case: 'url', value: 'data:application/zip;base64,UEv//g==' } })
  const parts = [text, file('application/json', 0x7b, 0x7d), archive, file('application/pdf', 0xff), linked, inline]
  const { body, left } = sent({ messages: [{ role: Role.USER, parts }] })
  const [{ content } = assert.fail()] = body.messages as { content: { type: string; source?: { type: string } }[] }[]
  assert.deepEqual(
    content.map(({ type, source }) => source?.type ?? type),
    ['text', 'text', 'base64', 'url'],
  )
  assert.deepEqual(left, ['messages[0].parts[2]', 'messages[0].parts[5]'])
})

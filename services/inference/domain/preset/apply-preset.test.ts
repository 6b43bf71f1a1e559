import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  GenerationRequestSchema,
  HostedToolSchema,
  type Message,
  ToolChoice_Mode as Mode,
  ProviderExtensionSchema,
  Message_Role as Role,
  RoutingSchema,
  SamplingSchema,
  type Tool,
  ToolChoiceSchema,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { message, part } from '#test/support/generation.ts'
import { PRESET_MEMBERS, withPreset } from './apply-preset.ts'

type RequestInit = Exclude<MessageInitShape<typeof GenerationRequestSchema>, { readonly $typeName: string }>

const user = message(Role.USER, part('text', { text: 'Hi' }))
const system = (text: string) => message(Role.SYSTEM, part('text', { text }))

function request(more: RequestInit = {}) {
  return create(GenerationRequestSchema, { requestId: 'r', messages: [user], origin: 'chat', ...more })
}

const settings = (more: RequestInit = {}) => create(GenerationRequestSchema, more)
const merged = (given: RequestInit, preset: RequestInit) => withPreset(request(given), settings(preset), undefined)

const tool = (name: string, more: Omit<MessageInitShape<typeof ToolSchema>, '$typeName'> = {}): Tool =>
  create(ToolSchema, { name, ...more })
const samplingOf = (more: MessageInitShape<typeof SamplingSchema>) => create(SamplingSchema, more)
const routingOf = (more: MessageInitShape<typeof RoutingSchema>) => create(RoutingSchema, more)
const hosted = (type: string, more: object = {}, format = 'openai-responses-v1') =>
  create(HostedToolSchema, { format, definition: { type, ...more } })
const extension = (format: string, body?: JsonObject, headers: Record<string, string> = {}) =>
  create(ProviderExtensionSchema, { format, headers, body })

/** Two values for each member, neither of which counts as omitted. */
const VALUES: { readonly [K in (typeof PRESET_MEMBERS)[number]]: readonly [RequestInit[K], RequestInit[K]] } = {
  tools: [[tool('f', { strict: true })], [tool('f', { strict: false })]],
  hostedTools: [[hosted('web_search', { a: 1 })], [hosted('web_search', { a: 2 })]],
  toolChoice: [{ mode: Mode.AUTO }, { mode: Mode.NONE }],
  parallelToolCalls: [true, false],
  maxOutputTokens: [1, 2],
  maxToolCalls: [1, 2],
  sampling: [{ temperature: 1 }, { temperature: 0 }],
  reasoning: [{ effort: 'low' }, { effort: 'high' }],
  responseFormat: [
    { format: { case: 'jsonObject', value: {} } },
    { format: { case: 'jsonSchema', value: { name: 'x', schema: {}, strict: true } } },
  ],
  verbosity: ['low', 'high'],
  prediction: ['a', 'b'],
  serviceTier: ['flex', 'priority'],
  speed: ['fast', 'standard'],
  providerBody: [{ a: 1 }, { a: 2 }],
  extensions: [[extension('x', { a: 1 }, { a: '1' })], [extension('x', { a: 2 }, { a: '2' })]],
  routing: [{ only: ['a'] }, { only: ['b'] }],
  automaticCache: [{ ttl: '5m' }, { ttl: '1h' }],
  excludeThoughts: [false, true],
  notApplied: [['models'], ['models']],
}

test('a member of a preset counts only if the request lacks it', () => {
  for (const name of PRESET_MEMBERS) {
    const [own = {}, kept = {}] = VALUES[name].map((value): RequestInit => ({ [name]: value }))
    assert.deepEqual(merged({}, kept)[name], settings(kept)[name], `${name} of the preset`)
    assert.deepEqual(merged(own, {})[name], settings(own)[name], `${name} of the request alone`)
    assert.deepEqual(merged(own, kept)[name], settings(own)[name], `${name} of both`)
  }
})

test('the caller and the messages stay those of the request', () => {
  const who = { user: 'u', sessionId: 's', metadata: { a: 'b' }, trace: { trace_id: 't' }, attribution: undefined }
  const given = request({ ...who, preset: 'a' })
  assert.partialDeepStrictEqual(withPreset(given, settings(), undefined), given)
})

test('sampling settings are merged one by one, a zero included; a list of stop texts is replaced', () => {
  const own = samplingOf({ temperature: 0, stop: ['x'] })
  const kept = samplingOf({ temperature: 1, topP: 0.5, minP: 0.1, seed: 3n, stop: ['y', 'z'], logitBias: { 1: 2 } })
  const both = { ...kept, temperature: 0, stop: ['x'] }
  assert.deepEqual(merged({ sampling: own }, { sampling: kept }).sampling, both)
  const unlisted = merged({ sampling: samplingOf({ topP: 0 }) }, { sampling: kept }).sampling
  assert.deepEqual(unlisted, { ...kept, topP: 0 })
})

test('a setting that a request switches off is off, whatever the preset contains', () => {
  const kept = samplingOf({ temperature: 1, stop: ['y'], logitBias: { 1: 2 }, topLogProbabilities: 3 })
  const own = samplingOf({ cleared: ['stop', 'logit_bias', 'top_log_probabilities'] })
  const { sampling: both } = merged({ sampling: own }, { sampling: kept })
  assert.deepEqual([both?.temperature, both?.stop, both?.logitBias, both?.topLogProbabilities], [1, [], {}, undefined])
  assert.equal(merged({ sampling: kept }, { sampling: own }).sampling?.topLogProbabilities, 3)
  const excluding = { reasoning: { effort: 'high' }, excludeThoughts: true }
  assert.equal(merged({}, excluding).excludeThoughts, true)
  assert.equal(merged({ reasoning: { effort: 'low' } }, excluding).excludeThoughts, undefined)
})

test('an object with one meaning is replaced whole', () => {
  const { reasoning } = merged({ reasoning: { effort: 'low' } }, { reasoning: { effort: 'high', maxTokens: 9 } })
  assert.equal(reasoning?.effort, 'low')
  assert.equal(reasoning?.maxTokens, undefined)
  const own = routingOf({ ignore: ['a'] })
  assert.deepEqual(merged({ routing: own }, { routing: routingOf({ only: ['b'] }) }).routing, own)
})

test('tools are united: those of the preset first, in their order, with those of the request in their place or after them', () => {
  const preset = [tool('a'), tool('b'), tool('c', { namespace: { name: 'n', description: undefined } })]
  const own = [tool('d'), tool('b', { strict: true }), tool('c')]
  const { tools } = merged({ tools: own }, { tools: preset })
  assert.deepEqual(tools, [preset[0], own[1], preset[2], own[0], own[2]])
  const custom = tool('a', { custom: { syntax: undefined, grammar: undefined } })
  assert.deepEqual(merged({ tools: [custom] }, { tools: [tool('a')] }).tools, [custom])
})

test('hosted tools are united by type, by name if there may be several, and for each kind of provider', () => {
  const preset = [hosted('mcp', { server_label: 'a' }), hosted('mcp', { server_label: 'b' }), hosted('web_search')]
  const own = [hosted('mcp', { server_label: 'b', x: 1 }), hosted('web_search', {}, 'anthropic-claude-v1')]
  const { hostedTools } = merged({ hostedTools: own }, { hostedTools: preset })
  assert.deepEqual(hostedTools, [preset[0], own[0], preset[2], own[1]])
  const advisors = ['a', 'b'].map((name) => hosted('openrouter:advisor', { parameters: { name } }))
  const one = hosted('openrouter:advisor', { parameters: { name: 'b', more: true } })
  assert.deepEqual(merged({ hostedTools: [one] }, { hostedTools: advisors }).hostedTools, [advisors[0], one])
})

test('a hosted tool with a name is identified by it, not by the date in its type or by who runs it', () => {
  const format = 'anthropic-claude-v1'
  const [older, newer, bash] = [
    hosted('web_search_20250305', { name: 'web_search' }, format),
    hosted('web_search_20260209', { name: 'web_search' }, format),
    hosted('bash_20250124', { name: 'bash' }, format),
  ]
  assert.deepEqual(merged({ hostedTools: [newer] }, { hostedTools: [older, bash] }).hostedTools, [newer, bash])
  const sets = ['a', 'b'].map((mcp_server_name) => hosted('mcp_toolset', { mcp_server_name }, format))
  assert.deepEqual(merged({ hostedTools: sets.slice(1) }, { hostedTools: sets }).hostedTools, sets)
  const own = merged({ tools: [tool('bash')] }, { hostedTools: [bash] })
  assert.deepEqual([own.tools, own.hostedTools], [[tool('bash')], []])
  const theirs = merged({ hostedTools: [bash] }, { tools: [tool('bash')] })
  assert.deepEqual([theirs.tools, theirs.hostedTools], [[], [bash]])
})

test('a choice that allows some tools holds for those of the preset', () => {
  const server = (label: string) => hosted('mcp', { server_label: label })
  const preset = {
    tools: [tool('a'), tool('b')],
    hostedTools: [hosted('web_search'), hosted('file_search'), server('x'), server('y')],
  }
  const allowed = { names: ['b', 'own'], hostedTypes: ['file_search'], serverLabels: ['y'] }
  const choice = create(ToolChoiceSchema, { mode: Mode.REQUIRED, allowed })
  const { tools, hostedTools, toolChoice } = merged({ tools: [tool('own')], toolChoice: choice }, preset)
  assert.deepEqual(
    [tools, hostedTools],
    [
      [tool('b'), tool('own')],
      [hosted('file_search'), server('y')],
    ],
  )
  assert.deepEqual(toolChoice, choice)
  // What a preset allows is decided when it is created, so a request with more tools may use them.
  const own = merged({ tools: [tool('own')] }, { ...preset, toolChoice: choice })
  assert.deepEqual(own.tools, [...preset.tools, tool('own')])
})

test('members for one kind of provider are merged one by one', () => {
  const preset: ReturnType<typeof extension>[] = [extension('a', { k: 1, l: 1 }, { x: '1', y: '1' }), extension('b')]
  const own: ReturnType<typeof extension>[] = [extension('a', { l: 2 }, { y: '2' }), extension('c', { m: 1 })]
  assert.deepEqual(merged({ extensions: own }, { extensions: preset }).extensions, [
    extension('a', { k: 1, l: 2 }, { x: '1', y: '2' }),
    preset[1],
    own[1],
  ])
  assert.deepEqual(merged({ providerBody: { b: 2 } }, { providerBody: { a: 1, b: 1 } }).providerBody, { a: 1, b: 2 })
})

test('a request’s thinking settings count, even if the preset gives them in the words of one provider', () => {
  const words = { thinking: { type: 'enabled', budget_tokens: 2_000 }, output_config: { effort: 'max' } }
  const preset = { extensions: [extension('a', { ...words, container: 'c' })] }
  const extensionsOf = (given: RequestInit) => merged(given, preset).extensions
  assert.deepEqual(extensionsOf({}), preset.extensions)
  assert.deepEqual(extensionsOf({ reasoning: { effort: 'none' } }), [extension('a', { container: 'c' })])
  const own = [extension('a', { thinking: { type: 'disabled' } })]
  assert.deepEqual(extensionsOf({ reasoning: { effort: 'none' }, extensions: own }), [
    extension('a', { container: 'c', thinking: { type: 'disabled' } }),
  ])
})

test('one kind of provider’s extra thinking settings are replaced with the rest of a preset’s thinking settings', () => {
  const extensions = [extension('a', { reasoning: { mode: 'pro' }, truncation: 'auto' })]
  const { extensions: left } = merged({ reasoning: { effort: 'low' } }, { reasoning: { effort: 'high' }, extensions })
  assert.deepEqual(left, [extension('a', { truncation: 'auto' })])
})

test('tools’ extras for one kind of provider are united by their names', () => {
  const of = (...tools: { name: string; n: number }[]) => [extension('a', { tools })]
  const [one, two, three, other] = [
    { name: 'one', n: 1 },
    { name: 'two', n: 1 },
    { name: 'three', n: 1 },
    { name: 'two', n: 2 },
  ]
  const { extensions } = merged({ extensions: of(three, other) }, { extensions: of(one, two) })
  assert.deepEqual(extensions, of(one, other, three))
})

test('members that no provider applies are listed from both, each once', () => {
  const { notApplied } = merged({ notApplied: ['models', 'route'] }, { notApplied: ['plugins', 'models'] })
  assert.deepEqual(notApplied, ['models', 'route', 'plugins'])
})

test('a tier that clients send by default leaves the tier to the preset', () => {
  assert.equal(merged({ serviceTier: 'auto' }, { serviceTier: 'flex' }).serviceTier, 'flex')
  assert.equal(merged({ serviceTier: 'default' }, { serviceTier: 'flex' }).serviceTier, 'default')
})

test('the instructions of a preset are for requests that do not begin with their own', () => {
  const said = (messages: Message[]) => withPreset(request({ messages }), settings(), 'Be brief.').messages
  assert.deepEqual(said([user]), [system('Be brief.'), user])
  assert.deepEqual(said([system('Be long.'), user]), [system('Be long.'), user])
  const silent = message(Role.SYSTEM)
  assert.deepEqual(said([silent, user]), [system('Be brief.'), silent, user])
  assert.deepEqual(said([user, system('Hurry.'), user]), [system('Be brief.'), user, system('Hurry.'), user])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationRequest, ProviderExtension } from '../generation.ts'
import type { Sampling } from '../sampling.ts'
import type { HostedTool, Tool } from '../tools.ts'
import { PRESET_MEMBERS, type PresetSettings, withPreset } from './apply-preset.ts'

type Request = Omit<GenerationRequest, 'modelId'>

const user = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] } as const
const system = (text: string) => ({ role: 'system', parts: [{ type: 'text', text }] }) as const
const nothing = { tools: [], hostedTools: [], extensions: [], notApplied: [] }

function request(more: Partial<Request> = {}): Request {
  const common = { requestId: 'r', messages: [user], providerHeaders: {}, metadata: {}, origin: 'chat' }
  return { ...common, ...empty(), ...more } as Request
}

function empty(): PresetSettings {
  const unset = PRESET_MEMBERS.map((name): [string, unknown] => [name, undefined])
  return Object.fromEntries([...unset, ...Object.entries(nothing)]) as unknown as PresetSettings
}

const settings = (more: Partial<PresetSettings>): PresetSettings => ({ ...empty(), ...more })
const merged = (given: Partial<Request>, preset: Partial<PresetSettings>) =>
  withPreset(request(given), settings(preset), undefined)

function sampling(more: Partial<Sampling>): Sampling {
  const unset = { temperature: undefined, topP: undefined, topK: undefined, frequencyPenalty: undefined }
  return { ...unset, presencePenalty: undefined, seed: undefined, stop: [], ...more }
}

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  parameters: undefined,
  strict: undefined,
  ...more,
})
const hosted = (type: string, more: object = {}, format = 'openai-responses-v1'): HostedTool => ({
  format,
  definition: { type, ...more },
})

/** Two values for each member, neither of which counts as omitted. */
const VALUES: { readonly [K in keyof PresetSettings]-?: readonly [PresetSettings[K], PresetSettings[K]] } = {
  tools: [[tool('f', { strict: true })], [tool('f', { strict: false })]],
  hostedTools: [[hosted('web_search', { a: 1 })], [hosted('web_search', { a: 2 })]],
  toolChoice: [{ mode: 'auto' }, { mode: 'none' }],
  parallelToolCalls: [true, false],
  maxOutputTokens: [1, 2],
  maxToolCalls: [1, 2],
  sampling: [sampling({ temperature: 1 }), sampling({ temperature: 0 })],
  reasoning: [{ effort: 'low' }, { effort: 'high' }],
  responseFormat: [{ type: 'json-object' }, { type: 'json-schema', name: 'x', schema: {}, strict: true }],
  verbosity: ['low', 'high'],
  prediction: ['a', 'b'],
  serviceTier: ['flex', 'priority'],
  speed: ['fast', 'standard'],
  providerBody: [{ a: 1 }, { a: 2 }],
  extensions: [
    [{ format: 'x', headers: { a: '1' }, body: { a: 1 } }],
    [{ format: 'x', headers: { a: '2' }, body: { a: 2 } }],
  ],
  routing: [routing({ only: ['a'] }), routing({ only: ['b'] })],
  automaticCache: [{ ttl: '5m' }, { ttl: '1h' }],
  excludeThoughts: [false, true],
  notApplied: [['models'], ['models']],
}

function routing(more: object): NonNullable<PresetSettings['routing']> {
  const lists = { only: [], ignore: [], preferences: [], quantizations: [] }
  const flags = { requireParameters: false, denyDataCollection: false, zeroDataRetention: false }
  const prices = { maxInputNanos: undefined, maxOutputNanos: undefined, enforceDistillableText: false }
  return { ...lists, ...flags, ...prices, ...more }
}

test('each member of a preset counts if the request lacks it, else that of the request', () => {
  for (const name of PRESET_MEMBERS) {
    const [own, kept] = VALUES[name]
    assert.deepEqual(merged({}, { [name]: kept })[name], kept, `${name} of the preset`)
    assert.deepEqual(merged({ [name]: own }, {})[name], own, `${name} of the request alone`)
    assert.deepEqual(merged({ [name]: own }, { [name]: kept })[name], own, `${name} of both`)
  }
})

test('the caller and the messages stay those of the request', () => {
  const who = { user: 'u', sessionId: 's', metadata: { a: 'b' }, trace: { trace_id: 't' }, attribution: undefined }
  const given = request({ ...who, preset: 'a' })
  assert.deepEqual(withPreset(given, empty(), undefined), given)
})

test('sampling settings are merged one by one, a zero included; a list of stop texts is replaced', () => {
  const own = sampling({ temperature: 0, stop: ['x'] })
  const kept = sampling({ temperature: 1, topP: 0.5, minP: 0.1, seed: 3n, stop: ['y', 'z'], logitBias: { 1: 2 } })
  const both = { ...kept, temperature: 0, stop: ['x'] }
  assert.deepEqual(merged({ sampling: own }, { sampling: kept }).sampling, both)
  const unlisted = merged({ sampling: sampling({ topP: 0 }) }, { sampling: kept }).sampling
  assert.deepEqual(unlisted, { ...kept, topP: 0 })
})

test('what a request switches off is off, whatever the preset says', () => {
  const kept = sampling({ temperature: 1, stop: ['y'], logitBias: { 1: 2 }, topLogProbabilities: 3 })
  const own = sampling({ cleared: ['stop', 'logitBias', 'topLogProbabilities'] })
  const { sampling: both } = merged({ sampling: own }, { sampling: kept })
  assert.deepEqual(
    [both?.temperature, both?.stop, both?.logitBias, both?.topLogProbabilities],
    [1, [], undefined, undefined],
  )
  assert.equal(merged({ sampling: kept }, { sampling: own }).sampling?.topLogProbabilities, 3)
  const excluding = { reasoning: { effort: 'high' }, excludeThoughts: true }
  assert.equal(merged({}, excluding).excludeThoughts, true)
  assert.equal(merged({ reasoning: { effort: 'low' } }, excluding).excludeThoughts, undefined)
})

test('an object with one meaning is replaced whole', () => {
  const { reasoning } = merged({ reasoning: { effort: 'low' } }, { reasoning: { effort: 'high', maxTokens: 9 } })
  assert.deepEqual(reasoning, { effort: 'low' })
  const own = routing({ ignore: ['a'] })
  assert.deepEqual(merged({ routing: own }, { routing: routing({ only: ['b'] }) }).routing, own)
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

test('a hosted tool with a name is identified by it, whatever the date in its type and whoever runs it', () => {
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
  const choice = { mode: 'required', allowed } as const
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

test('what is for one kind of provider is merged member by member', () => {
  const preset: ProviderExtension[] = [
    { format: 'a', headers: { x: '1', y: '1' }, body: { k: 1, l: 1 } },
    { format: 'b', headers: {}, body: undefined },
  ]
  const own: ProviderExtension[] = [
    { format: 'a', headers: { y: '2' }, body: { l: 2 } },
    { format: 'c', headers: {}, body: { m: 1 } },
  ]
  assert.deepEqual(merged({ extensions: own }, { extensions: preset }).extensions, [
    { format: 'a', headers: { x: '1', y: '2' }, body: { k: 1, l: 2 } },
    preset[1],
    own[1],
  ])
  assert.deepEqual(merged({ providerBody: { b: 2 } }, { providerBody: { a: 1, b: 1 } }).providerBody, { a: 1, b: 2 })
})

test('a request’s thinking settings count, even if the preset gives them in the words of one provider', () => {
  const words = { thinking: { type: 'enabled', budget_tokens: 2_000 }, output_config: { effort: 'max' } }
  const preset = { extensions: [{ format: 'a', headers: {}, body: { ...words, container: 'c' } }] }
  const extensionsOf = (given: Partial<Request>) => merged(given, preset).extensions
  assert.deepEqual(extensionsOf({}), preset.extensions)
  assert.deepEqual(extensionsOf({ reasoning: { effort: 'none' } }), [
    { format: 'a', headers: {}, body: { container: 'c' } },
  ])
  const own = [{ format: 'a', headers: {}, body: { thinking: { type: 'disabled' } } }]
  assert.deepEqual(extensionsOf({ reasoning: { effort: 'none' }, extensions: own }), [
    { format: 'a', headers: {}, body: { container: 'c', thinking: { type: 'disabled' } } },
  ])
})

test('one kind of provider’s extra thinking settings are replaced with the rest of a preset’s thinking settings', () => {
  const extensions = [{ format: 'a', headers: {}, body: { reasoning: { mode: 'pro' }, truncation: 'auto' } }]
  const { extensions: left } = merged({ reasoning: { effort: 'low' } }, { reasoning: { effort: 'high' }, extensions })
  assert.deepEqual(left, [{ format: 'a', headers: {}, body: { truncation: 'auto' } }])
})

test('tools’ extras for one kind of provider are united by their names', () => {
  const of = (...tools: { name: string; n: number }[]) => [{ format: 'a', headers: {}, body: { tools } }]
  const [one, two, three, other] = [
    { name: 'one', n: 1 },
    { name: 'two', n: 1 },
    { name: 'three', n: 1 },
    { name: 'two', n: 2 },
  ]
  const { extensions } = merged({ extensions: of(three, other) }, { extensions: of(one, two) })
  assert.deepEqual(extensions, of(one, other, three))
})

test('members that no provider applies are those of both, each once', () => {
  const { notApplied } = merged({ notApplied: ['models', 'route'] }, { notApplied: ['plugins', 'models'] })
  assert.deepEqual(notApplied, ['models', 'route', 'plugins'])
})

test('a tier that clients send by default leaves the tier to the preset', () => {
  assert.equal(merged({ serviceTier: 'auto' }, { serviceTier: 'flex' }).serviceTier, 'flex')
  assert.equal(merged({ serviceTier: 'default' }, { serviceTier: 'flex' }).serviceTier, 'default')
})

test('the instructions of a preset are for requests that do not begin with their own', () => {
  const said = (messages: Request['messages']) => withPreset(request({ messages }), empty(), 'Be brief.').messages
  assert.deepEqual(said([user]), [system('Be brief.'), user])
  assert.deepEqual(said([system('Be long.'), user]), [system('Be long.'), user])
  const silent = { role: 'system', parts: [] } as const
  assert.deepEqual(said([silent, user]), [system('Be brief.'), silent, user])
  assert.deepEqual(said([user, system('Hurry.'), user]), [system('Be brief.'), user, system('Hurry.'), user])
})

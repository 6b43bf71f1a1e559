import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Part, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, part } from '#test/support/generation.ts'
import { foreignLeftOut, notAppliedWarnings, settingsLeftOut } from './left-out.ts'

const fieldsOf = (warnings: readonly { readonly field: string }[]): string[] => warnings.map(({ field }) => field)

test('a setting is reported only if the request makes it', () => {
  const request = generationRequest({ prediction: 'x', speed: 'standard', serviceTier: 'auto' })
  assert.deepEqual(fieldsOf(settingsLeftOut(request, ['prediction', 'speed', 'service_tier', 'verbosity'])), [
    'prediction',
  ])
})

test('opaque content is sent to the kind of provider that made it, or to any if its maker is unknown', () => {
  const parts: readonly Part[] = [
    part('text', { text: 'Hello' }),
    part('reasoning', { text: 'hm', signature: 's', format: 'a' }),
    part('reasoning', { encrypted: 'e', format: 'b' }),
    part('reasoning', { text: 'hm', signature: 's' }),
    part('reasoning', { text: 'hm', format: 'b' }),
    part('foreign', { format: 'b', item: {} }),
    part('toolCall', { callId: 'c', name: 'n', arguments: '{}', signature: 's', format: 'b' }),
  ]
  const request = generationRequest({
    messages: [{ role: Role.ASSISTANT, parts }],
    hostedTools: [
      { format: 'a', definition: { type: 'web_search' } },
      { format: 'b', definition: { type: 'shell' } },
    ],
    extensions: [{ format: 'b', headers: { x: 'y' }, body: { own: 1 } }],
  })
  const extended = ['extensions[0].headers', 'extensions[0].own']
  const found = (...places: number[]): string[] => places.map((part) => `messages[0].parts[${part}]`)
  assert.deepEqual(fieldsOf(foreignLeftOut(request, 'a')), ['hosted_tools[1]', ...extended, ...found(2, 5, 6)])
  assert.deepEqual(fieldsOf(foreignLeftOut(request, 'b')), ['hosted_tools[0]', ...found(1)])
  const none = ['hosted_tools[0]', 'hosted_tools[1]', ...extended, ...found(1, 2, 5, 6)]
  assert.deepEqual(fieldsOf(foreignLeftOut(request)), none)
})

test('metadata of a message for one kind of provider is reported as left out for the others', () => {
  const hurry = { role: Role.SYSTEM, parts: [], providerMetadata: { b: { clear_at: 'never' } } } as const
  const request = generationRequest({ messages: [{ role: Role.USER, parts: [part('text', { text: 'a' })] }, hurry] })
  assert.deepEqual(fieldsOf(foreignLeftOut(request, 'a')), ['messages[1]'])
  assert.deepEqual(fieldsOf(foreignLeftOut(request, 'b')), [])
})

test('a setting in one provider’s own words that is sent to all is not reported as left out', () => {
  const said = (output_config: object): string[] => {
    const body = { thinking: { type: 'adaptive' }, output_config } as never
    const extensions = [{ format: 'b', headers: {}, body }]
    return fieldsOf(foreignLeftOut(generationRequest({ extensions, reasoning: { effort: 'high' } }), 'a'))
  }
  assert.deepEqual(said({ effort: 'high' }), [])
  assert.deepEqual(said({ effort: 'high', task_budget: {} }), ['extensions[0].output_config'])
})

test('members without an effect, and preferences between endpoints, are named', () => {
  const routing = {
    ...{ only: [], ignore: [], requireParameters: false, denyDataCollection: false, zeroDataRetention: false },
    ...{ maxInputNanos: undefined, maxOutputNanos: undefined, enforceDistillableText: false, quantizations: [] },
    preferences: ['sort'],
  }
  const warnings = notAppliedWarnings(generationRequest({ notApplied: ['models'], routing }))
  assert.deepEqual(fieldsOf(warnings), ['models', 'routing.sort'])
})

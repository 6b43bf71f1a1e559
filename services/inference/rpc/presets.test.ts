import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { type GenerationRequestSchema, ToolChoice_Mode } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Preset_Status, PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { Config } from '#services/inference/config.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openInference, userMessage } from '#test/support/inference.ts'
import { answers, fixture, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'

type Init = MessageInitShape<typeof GenerationRequestSchema>

const manager: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_m', kind: 'management' }
const byManager = callOptions({ principal: manager })
const byUser = callOptions({ principal: { ...manager, apiKeyId: 'key_u', kind: 'workspace' }, authenticated: true })
const byOther = callOptions({ principal: { ...manager, workspaceId: 'wrk_2', kind: 'workspace' }, authenticated: true })
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function served({ url: baseUrl }: ProviderStub): Partial<Config> {
  const models = ['gpt', 'other'].map((id) => ({ id, displayName: id }))
  const provider = { id: 'p', protocol: 'openai', baseUrl, apiKey: undefined, headers: {}, models } as const
  return { providers: [provider], defaultModel: 'p/gpt' }
}

function clientsOf(transport: Transport) {
  const presets = createClient(PresetService, transport)
  const inference = createClient(InferenceService, transport)
  let requests = 0
  return {
    presets,
    inference,
    make: (slug: string, settings: Init, systemPrompt?: string) => {
      return presets.createPresetVersion({ slug, config: { slug }, settings, systemPrompt }, byManager)
    },
    async generate(generation: Init, options = byUser) {
      const whole = { requestId: `req_${++requests}`, messages: [userMessage('Hi')], ...generation }
      return (await inference.generate({ generation: whole }, options)).generation
    },
  }
}

forEachTransport((name, connect) => {
  test(`${name}: presets are created in versions, listed and read`, async () => {
    await using service = await openInference()
    await using connection = await connect(service.routes)
    const { presets, make } = clientsOf(connection.transport)
    const settings = { sampling: { temperature: 0.5 } }
    const { preset, designatedVersion: first } = await make('support', settings, 'Be brief.')
    assert.match(preset?.presetId ?? '', UUID)
    assert.match(first?.versionId ?? '', UUID)
    assert.deepEqual(
      [preset?.slug, preset?.name, preset?.workspaceId, preset?.description, preset?.creatorKeyId, preset?.status],
      ['support', 'support', 'wrk_1', undefined, 'key_m', Preset_Status.ACTIVE],
    )
    assert.deepEqual(
      [first?.version, first?.config, first?.systemPrompt, first?.creatorKeyId, first?.presetId],
      [1, { slug: 'support' }, 'Be brief.', 'key_m', preset?.presetId],
    )
    assert.equal(preset?.designatedVersionId, first?.versionId)
    assert.ok(Math.abs(Date.now() - (preset?.createTime ?? 0)) < 60_000)

    const { designatedVersion: second } = await make('support', settings)
    assert.deepEqual([second?.version, second?.systemPrompt], [2, undefined])
    assert.deepEqual((await presets.getPreset({ slug: 'support' }, byUser)).designatedVersion, second)
    const listed = await presets.listPresets({}, byUser)
    assert.deepEqual([listed.presets.map(({ slug }) => slug), listed.totalSize], [['support'], 1])
    const versions = await presets.listPresetVersions({ slug: 'support', offset: 0, pageSize: 1 }, byUser)
    assert.deepEqual([versions.versions, versions.totalSize], [[first], 2])
    assert.deepEqual((await presets.getPresetVersion({ slug: 'support', version: 1 }, byUser)).version, first)
  })
})

test('a missing preset is refused, and each belongs to its workspace', async () => {
  await using service = await openInference()
  await using connection = await connectLocal(service.routes)
  const { presets, make, generate } = clientsOf(connection.transport)
  await make('mine', {})
  const reason = async (call: Promise<unknown>) => (await refusalOf(call)).reason
  for (const [slug, options] of [
    ['other', byUser],
    ['mine', byOther],
  ] as const) {
    assert.equal(await reason(presets.getPreset({ slug }, options)), 'PRESET_NOT_FOUND')
    assert.equal(await reason(presets.listPresetVersions({ slug }, options)), 'PRESET_NOT_FOUND')
    assert.equal(await reason(presets.getPresetVersion({ slug, version: 1 }, options)), 'PRESET_NOT_FOUND')
    for (const named of [{ model: `@preset/${slug}` }, { model: `p/gpt@preset/${slug}` }, { preset: slug }])
      assert.equal(await reason(generate(named, options)), 'PRESET_NOT_FOUND')
  }
  assert.equal(await reason(presets.getPresetVersion({ slug: 'mine', version: 2 }, byUser)), 'PRESET_VERSION_NOT_FOUND')
  assert.equal((await presets.listPresets({}, byOther)).totalSize, 0)
  assert.equal(
    await reason(presets.createPresetVersion({ slug: 'a', settings: {} }, byUser)),
    'MANAGEMENT_KEY_REQUIRED',
  )
})

test('a preset is refused if no request could be served with it', async () => {
  await using service = await openInference()
  await using connection = await connectLocal(service.routes)
  const { presets, make, generate } = clientsOf(connection.transport)
  const refused = async (call: Promise<unknown>): Promise<string> => {
    const { reason, metadata } = await refusalOf(call)
    assert.equal(reason, 'REQUEST_INVALID')
    return `${metadata.field}: ${metadata.problem}`
  }
  assert.match(await refused(make('..', {})), /^slug: /)
  assert.match(await refused(make('', {})), /^slug: /)
  assert.match(await refused(presets.createPresetVersion({ slug: 'a' }, byManager)), /^settings: must be set/)
  assert.match(await refused(make('a', { sampling: { temperature: 3 } })), /^sampling\.temperature: /)
  assert.match(await refused(make('a', { model: '@preset/b' })), /^model: must not name a preset/)
  assert.match(await refused(make('a', {}, 'x'.repeat(1_048_577))), /^system_prompt: /)
  assert.match(await refused(presets.listPresets({ offset: -1 }, byUser)), /^offset: /)
  await make('a', {})
  assert.match(await refused(generate({ model: '@preset/a', preset: 'a' })), /^preset: /)
  assert.equal((await presets.listPresets({}, byUser)).totalSize, 1)
})

test('a request is served with its preset’s settings where it has none, from the next request on', async () => {
  await using stub = await startStub(answers(200, fixture('openai-text.json')))
  await using service = await openInference(served(stub))
  await using connection = await connectLocal(service.routes)
  const { make, generate, presets } = clientsOf(connection.transport)
  const tools = [{ name: 'look' }]
  const settings = { model: 'p/other', maxOutputTokens: 7, sampling: { temperature: 0.2, seed: 12n }, tools }
  const { preset } = await make(
    'a',
    { ...settings, toolChoice: { mode: ToolChoice_Mode.NAMED, name: 'look' } },
    'Be brief.',
  )
  const upstream = async (given: Init) => {
    const generation = await generate(given)
    const seen = stub.seen.at(-1)?.body as Record<string, unknown>
    return { generation, seen }
  }
  const { generation, seen } = await upstream({ model: '@preset/a', sampling: { topP: 0.5 } })
  assert.deepEqual(seen.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ])
  assert.deepEqual([seen.model, seen.temperature, seen.top_p, seen.seed], ['other', 0.2, 0.5, 12])
  assert.deepEqual(seen.tool_choice, { type: 'function', function: { name: 'look' } })
  assert.equal(generation?.model, 'p/other')
  const { presetId, slug, version } = generation?.preset ?? {}
  assert.deepEqual([presetId, slug, version], [preset?.presetId, 'a', 1])

  const own = await upstream({ model: 'p/gpt@preset/a', sampling: { temperature: 0 }, tools: [{ name: 'find' }] })
  assert.deepEqual([own.seen.model, own.seen.temperature], ['gpt', 0])
  const names = (own.seen.tools as { function: { name: string } }[]).map((tool) => tool.function.name)
  assert.deepEqual(names, ['look', 'find'])
  const chosen = { mode: ToolChoice_Mode.NAMED, name: 'look' }
  assert.ok((await upstream({ model: 'p/gpt', preset: 'a', toolChoice: chosen })).seen.tool_choice)
  const missing = await refusalOf(generate({ preset: 'a', toolChoice: { ...chosen, name: 'none' } }))
  assert.deepEqual([missing.reason, missing.metadata.field], ['REQUEST_INVALID', 'tool_choice'])

  await make('a', { model: 'p/gpt', sampling: { temperature: 1.5 }, notApplied: ['models'] })
  const next = await upstream({ model: '@preset/a' })
  assert.deepEqual([next.seen.model, next.seen.temperature, next.generation?.preset?.version], ['gpt', 1.5, 2])
  assert.deepEqual(
    next.generation?.warnings.map(({ field }) => field),
    ['models'],
  )
  assert.equal((await upstream({ model: 'p/gpt' })).seen.temperature, undefined)
  assert.equal((await presets.getPresetVersion({ slug: 'a', version: 1 }, byUser)).version?.version, 1)
})

test('a preset that is disabled or archived cannot be used, and is still read', async () => {
  await using first = await openInference({ keepDirectory: true })
  const { directory } = first
  {
    await using connection = await connectLocal(first.routes)
    for (const slug of ['disabled', 'archived']) await clientsOf(connection.transport).make(slug, {})
  }
  await first[Symbol.asyncDispose]()
  {
    using database = new DatabaseSync(join(directory, 'presets.sqlite'))
    const change = database.prepare('UPDATE presets SET status = ?, statusUpdateTime = 5000 WHERE slug = ?')
    change.run(Preset_Status.DISABLED, 'disabled')
    change.run(Preset_Status.ARCHIVED, 'archived')
  }
  await using service = await openInference({ store: { kind: 'sqlite', directory } })
  await using connection = await connectLocal(service.routes)
  const { presets, generate, make } = clientsOf(connection.transport)
  for (const [slug, status] of [
    ['disabled', Preset_Status.DISABLED],
    ['archived', Preset_Status.ARCHIVED],
  ] as const) {
    assert.equal((await refusalOf(generate({ preset: slug }))).reason, 'PRESET_NOT_FOUND')
    await make(slug, {})
    assert.equal((await refusalOf(generate({ preset: slug }))).reason, 'PRESET_NOT_FOUND')
    const { preset } = await presets.getPreset({ slug }, byUser)
    assert.deepEqual([preset?.status, preset?.statusUpdateTime], [status, 5_000])
  }
  await first.remove()
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { reasons } from '#services/inference/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { create, created, send } from '#test/support/presets.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Each dialect: the member of its system text, the name of its token limit, and a member that is ignored. */
const DIALECTS = {
  responses: {
    system: { instructions: 'Be brief.' },
    limit: 'max_output_tokens',
    ignored: { input: 42, stream: 'yes', store: true, previous_response_id: 'x', include: 1, background: true },
  },
  messages: {
    system: { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    limit: 'max_tokens',
    ignored: { messages: 42, stream: 'yes' },
  },
  'chat/completions': {
    system: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        7,
      ],
    },
    limit: 'max_completion_tokens',
    ignored: { prompt: 42, stream: 'yes', stream_options: 1, n: 7, usage: 'x' },
  },
} as const

for (const [dialect, { system, limit, ignored }] of Object.entries(DIALECTS)) {
  test(`${dialect}: a preset keeps the settings of a body as they are given, and nothing else`, async () => {
    await using portico = await openPortico()
    const tools = dialect === 'chat/completions' ? [{ type: 'function', function: { name: 'f', mine: 1 } }] : undefined
    const config = {
      model: 'portico/echo',
      [limit]: 7,
      temperature: 0.5,
      top_p: null,
      provider: { order: ['a'], sort: 'price' },
      plugins: [{ id: 'web', max_results: 3, mine: { a: [1] } }],
      models: ['a/b'],
      ...(tools && { tools }),
    }
    const other = { ...ignored, metadata: 7, unknown_member: { a: 1 }, user: 'u', session_id: 's', trace: { x: 1 } }
    const preset = await created(portico, 'support', dialect, { ...other, ...system, ...config })
    const { designated_version: version, ...head } = preset
    for (const id of [head.id, head.workspace_id, head.designated_version_id]) assert.match(id, UUID)
    for (const at of [head.created_at, head.updated_at]) assert.match(at, MOMENT)
    const { apiKeys } = await portico.identity.listApiKeys({}, portico.operator)
    const keyId = apiKeys.find(({ prefix }) => prefix.startsWith('mk-'))?.keyId
    assert.deepEqual(head, {
      ...{
        id: head.id,
        slug: 'support',
        name: 'support',
        description: null,
        status: 'active',
        status_updated_at: null,
      },
      ...{ created_at: head.created_at, updated_at: head.updated_at, creator_user_id: keyId },
      ...{ workspace_id: head.workspace_id, designated_version_id: version.id },
    })
    assert.deepEqual(version, {
      ...{ id: version.id, preset_id: head.id, version: 1, config, system_prompt: 'Be brief.', creator_id: keyId },
      ...{ created_at: head.created_at, updated_at: head.created_at },
    })
    const next = await created(portico, 'support', dialect, {})
    assert.deepEqual([next.id, next.workspace_id], [head.id, head.workspace_id])
    const { version: number, config: empty, system_prompt: none } = next.designated_version
    assert.deepEqual([number, empty, none], [2, {}, null])
  })

  test(`${dialect}: refuses unknown members of closed objects with their path`, async () => {
    await using portico = await openPortico()
    const refused = async (body: unknown): Promise<string> => {
      const { status, json } = await create(portico, 'a', dialect, body)
      assert.equal(status, 400, JSON.stringify(body))
      assert.equal(json.error.code, 400)
      return json.error.message
    }
    const long = 'x'.repeat(257)
    const cases: [object, string][] = [
      [{ model: '' }, 'model'],
      [{ model: 'a/b@preset/c' }, 'model'],
      [{ temperature: 3 }, 'temperature'],
      [{ top_p: -1 }, 'top_p'],
      [{ [limit]: 0 }, limit],
      [{ provider: { unknown: 1 } }, 'provider'],
      [{ provider: { sort: 'beauty' } }, 'provider.sort'],
      [{ plugins: [{ id: 'unknown' }] }, 'plugins.0.id'],
      [{ plugins: [{ id: 'auto-router', cost_tier: 'free' }] }, 'plugins.0.cost_tier'],
      [{ plugins: [{ id: 'web', max_results: 26 }] }, 'plugins.0.max_results'],
      [{ plugins: [{ id: 'web' }, { id: 'auto-beta-router', pin_model: true }] }, 'plugins.1.pin_model'],
      [{ plugins: [{ id: 'moderation', max_uses: 1 }] }, 'plugins.0.max_uses'],
      [{ plugins: [{ id: 'pareto-router', min_coding_score: 2 }] }, 'plugins.0.min_coding_score'],
      [{ route: 'none' }, 'route'],
      [{ stop_server_tools_when: [] }, 'stop_server_tools_when'],
      [{ stop_server_tools_when: [{ type: 'step_count_is' }] }, 'stop_server_tools_when.0.step_count'],
      [{ stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: '1' }] }, 'stop_server_tools_when.0'],
      [{ cache_control: { type: 'forever' } }, 'cache_control.type'],
      [{ session_id: long }, 'session_id'],
      [{ user: long }, 'user'],
      [{ trace: { trace_id: 1 } }, 'trace.trace_id'],
    ]
    for (const [body, field] of cases) {
      const message = await refused(body)
      assert.ok(message.startsWith(`Invalid request parameters: ${field}`), `${JSON.stringify(body)}: ${message}`)
    }
    assert.match(await refused('[]'), /^Invalid request parameters: /)
    const prompt = Object.keys(system)[0]
    const most = await refused({ ...deepSystem(system, 'x'.repeat(1_048_577)) })
    assert.ok(most.startsWith(`Invalid request parameters: ${prompt}: must have at most 262144`), most)
    const much = await refused({ plugins: [{ id: 'web', search_prompt: 'x'.repeat(131_072) }] })
    assert.equal(much, 'Invalid request parameters: the body must have at most 131072 bytes as JSON')
    assert.equal((await send(portico, '/presets')).json.total_count, 0)
  })
}

test('refuses settings that contain a secret, since every user of a preset can read it', async () => {
  await using portico = await openPortico()
  const server = { type: 'url', name: 'docs', url: 'https://mcp.test/' }
  const tool = { type: 'mcp', server_label: 'docs', server_url: 'https://mcp.test/' }
  const input_schema = { type: 'object', properties: { headers: { type: 'object' }, token: { type: 'string' } } }
  const refused = {
    messages: [
      [{ mcp_servers: [server, { ...server, authorization_token: 'marker' }] }, 'mcp_servers.1.authorization_token'],
      [{ mcp_servers: [{ ...server, url: 'https://me:marker@mcp.test/' }] }, 'mcp_servers.0.url'],
      [
        {
          tools: [
            { name: 'f', input_schema },
            { type: 'x_2026', settings: { api_key: 'marker' } },
          ],
        },
        'tools.1.settings.api_key',
      ],
    ],
    responses: [
      [{ tools: [{ ...tool, authorization: 'marker' }] }, 'tools.0.authorization'],
      [{ tools: [{ ...tool, headers: { 'X-Key': 'marker' } }] }, 'tools.0.headers'],
      [{ tools: [{ ...tool, 'X-Api-Key': 'marker' }] }, 'tools.0.X-Api-Key'],
      [{ tools: [{ ...tool, server_url: 'https://mcp.test/?apiKey=marker' }] }, 'tools.0.server_url'],
    ],
    'chat/completions': [[{ tools: [{ type: 'web_search', headers: { a: 'marker' } }] }, 'tools.0.headers']],
  } as const
  for (const [dialect, cases] of Object.entries(refused)) {
    for (const [body, field] of cases) {
      const { status, json } = await create(portico, 'a', dialect, body)
      assert.equal(status, 400, field)
      assert.ok(
        json.error.message.startsWith(`Invalid request parameters: ${field}: must be omitted`),
        json.error.message,
      )
      assert.doesNotMatch(JSON.stringify([json, portico.log]), /marker/)
    }
  }
  await created(portico, 'a', 'messages', {
    mcp_servers: [{ ...server, authorization_token: null }],
    tools: [
      { name: 'f', input_schema },
      { type: 'mcp_toolset', mcp_server_name: 'docs', configs: { token: { enabled: true } } },
    ],
  })
  await created(portico, 'a', 'responses', { tools: [{ ...tool, headers: {} }] })
})

/** The same body with another system text. */
function deepSystem(system: object, text: string): object {
  return JSON.parse(JSON.stringify(system).replace('Be brief.', text)) as object
}

test('only management keys create presets, and every key of the workspace reads them', async () => {
  await using portico = await openPortico()
  for (const dialect of Object.keys(DIALECTS)) {
    const { status, json } = await send(portico, `/presets/a/${dialect}`, {})
    assert.deepEqual(
      [status, json],
      [403, { error: { code: 403, message: 'Only management keys can perform this operation' } }],
    )
    const none = await portico.fetch(`/api/v1/presets/a/${dialect}`, { method: 'POST', body: '{}' })
    assert.deepEqual(
      [none.status, await none.json()],
      [401, { error: { code: 401, message: 'Missing Authentication header' } }],
    )
    await created(portico, 'a', dialect, {})
  }
  for (const key of [PORTICO_KEYS.api, PORTICO_KEYS.management]) {
    for (const path of ['/presets', '/presets/a', '/presets/a/versions', '/presets/a/versions/1'])
      assert.equal((await send(portico, path, undefined, key)).status, 200, path)
  }
})

test('a conflict, a failure of the service and an unknown path have the errors of the specification, whole', async () => {
  let thrown: Error = new Rejection('PRESET_CONFLICT')
  const createPresetVersion = (): never => {
    throw thrown
  }
  await using facade = await openFacade({ reasons, presets: { createPresetVersion } })
  const headers = { authorization: `Bearer ${TEST_KEYS.management}`, 'content-type': 'application/json' }
  const post = async (at: string) => {
    const answer = await facade.fetch(`/api/v1/presets/a/${at}`, { method: 'POST', headers, body: '{}' })
    return [answer.status, await answer.json()]
  }
  const shown = (code: number, message: string) => [code, { error: { code, message } }]
  for (const dialect of Object.keys(DIALECTS)) {
    thrown = new Rejection('PRESET_CONFLICT')
    assert.deepEqual(await post(dialect), shown(409, 'Resource conflict. Please try again later.'))
    thrown = new Error('secret')
    assert.deepEqual(await post(dialect), shown(500, 'Internal Server Error'))
  }
  assert.deepEqual(await post('nothing'), shown(404, 'Resource not found: no such route'))
})

test('presets and versions are listed in pages, and found by slug and number', async () => {
  await using portico = await openPortico()
  for (const slug of ['a', 'b', 'c']) await created(portico, slug, 'responses', { temperature: 0 })
  const last = await created(portico, 'a', 'responses', { temperature: 1 })
  const get = (path: string) => send(portico, path)
  const slugs = async (query: string) => {
    const { json } = await get(`/presets${query}`)
    return [json.data.map(({ slug }: { slug: string }) => slug).join(''), json.total_count]
  }
  assert.deepEqual(await slugs(''), ['acb', 3])
  assert.deepEqual(await slugs('?offset=1&limit=1'), ['c', 3])
  assert.deepEqual((await get('/presets/a')).json, { data: last })
  const { designated_version: version, ...head } = last
  assert.deepEqual((await get('/presets?limit=1')).json.data, [head])
  const versions = (await get('/presets/a/versions')).json
  assert.deepEqual([versions.data.map((each: { version: number }) => each.version), versions.total_count], [[1, 2], 2])
  assert.deepEqual((await get('/presets/a/versions?offset=1')).json.data, [version])
  assert.deepEqual((await get('/presets/a/versions/2')).json, { data: version })
  for (const path of ['/presets/d', '/presets/d/versions', '/presets/d/versions/1', '/presets/a/versions/3']) {
    const { status, json } = await get(path)
    assert.deepEqual([status, json.error.code], [404, 404])
    assert.match(json.error.message, /^Resource not found: /)
  }
  for (const path of ['/presets', '/presets/a/versions']) {
    assert.equal((await get(`${path}?limit=100`)).status, 200, path)
    for (const limit of ['0', '101', '1000', '-1', '1.5', 'x']) {
      const { status, json } = await get(`${path}?limit=${limit}`)
      const message = 'Invalid request parameters: limit: must be an integer from 1 to 100'
      assert.deepEqual([status, json.error], [400, { code: 400, message, param: 'limit' }], `${path} ${limit}`)
    }
  }
  for (const path of ['/presets?offset=-1', '/presets/a/versions/0', '/presets/a/versions/x'])
    assert.equal((await get(path)).status, 400, path)
})

test('no log contains the content of a preset; presets are below /v1 as well', async () => {
  await using portico = await openPortico()
  const marked = {
    instructions: 'MARKER',
    image_config: { a: 'MARKER' },
    tools: [{ type: 'function', name: 'MARKER' }],
  }
  await created(portico, 'a', 'responses', { model: 'portico/echo', ...marked })
  assert.equal((await create(portico, 'a', 'responses', { ...marked, temperature: 3 })).status, 400)
  assert.equal((await create(portico, 'a', 'responses', { ...marked, temperature: 'MARKER' })).status, 400)
  assert.equal((await send(portico, '/responses', { model: '@preset/a', input: '/length 1' })).status, 200)
  assert.equal((await send(portico, '/responses', { model: '@preset/a', input: '/fail 500' })).status, 502)
  assert.doesNotMatch(JSON.stringify(portico.log), /MARKER/)
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  assert.equal((await portico.fetch('/v1/presets/a', { headers })).status, 200)
})

test('a slug is safe in URLs', async () => {
  await using portico = await openPortico()
  for (const slug of ['A-b_c.~9', 'x'.repeat(256)]) await created(portico, slug, 'responses', {})
  for (const slug of ['a%20b', '%C3%A4', 'a%2Fb', 'a@b', '%2E%2E%2E%00', 'x'.repeat(257)]) {
    assert.equal((await create(portico, slug, 'responses', {})).status, 400, slug)
  }
  assert.equal((await send(portico, '/presets')).json.total_count, 2)
})

test('50 versions posted to one slug at once are numbered without a gap', async () => {
  await using portico = await openPortico()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => create(portico, 'busy', 'responses', { max_output_tokens: i + 1 })),
  )
  // On SQLite, which takes them one after the other, none is a conflict.
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  const made = answers.map(({ json }) => json.data.designated_version)
  const { json } = await send(portico, '/presets/busy/versions?limit=100')
  assert.deepEqual(
    json.data.map(({ version }: { version: number }) => version),
    made.map((_, i) => i + 1),
  )
  assert.deepEqual(
    json.data,
    made.toSorted((a, b) => a.version - b.version),
  )
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'

const model = 'portico/echo'
const response = { model, input: 'Hello' }
const chat = { model, messages: [{ role: 'user', content: 'Hello' }] }
const tools = [{ type: 'openrouter:web_search' }]

/** What README says that clients of `/api/v1` will miss, with the status that it gives for it. */
const MISSING: readonly (readonly [status: number, method: string, path: string, body?: object])[] = [
  [400, 'POST', '/responses', { ...response, store: true }],
  [400, 'POST', '/responses', { ...response, previous_response_id: 'resp_1' }],
  [400, 'POST', '/responses', { ...response, conversation: 'conv_1' }],
  [400, 'POST', '/responses', { ...response, background: true }],
  [400, 'POST', '/chat/completions', { ...chat, n: 2 }],
  [404, 'GET', '/responses/resp_1'],
  [404, 'POST', '/responses/compact', response],
  [404, 'POST', '/responses/input_tokens', response],
  [404, 'POST', '/embeddings', response],
  [404, 'GET', '/workspaces'],
  [404, 'GET', '/generation/content?id=gen-1'],
  [404, 'POST', '/completions', { model, prompt: 'Hello' }],
  ...['/images/generations', '/audio/speech', '/files', '/batches', '/rerank', '/videos'].map(
    (path) => [404, 'POST', path, { model, prompt: 'Hello' }] as const,
  ),
  [400, 'POST', '/responses', { ...response, tools }],
  [405, 'DELETE', '/presets/brief'],
  [404, 'POST', '/messages/batches', { requests: [] }],
]

/** What it says of OpenCode's, of a session and of the server. */
const OF_SESSIONS = ['revert/stage', 'form', 'question', 'shell', 'command', 'history', 'event'].concat([
  'diff',
  'generate',
  'todo',
  'children',
  'share',
  'background',
])
const OF_SERVERS = ['pty', 'command', 'fs/list', 'reference', 'credential', 'integration'].concat([
  'project',
  'vcs',
  'worktree',
  'config',
  'tool',
])

test('refuses features of the gateway that README lists as missing, in the way that it says', async () => {
  await using portico = await openPortico()
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  for (const [status, method, path, body] of MISSING) {
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await portico.fetch(`/api/v1${path}`, request)
    const text = await answer.text()
    assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${text}`)
  }
})

test('refuses features of OpenCode that README lists as missing, in the way that it says', async () => {
  await using portico = await openPortico()
  const { data } = (await (await portico.post('/api/session', { title: 'Test' })).json()) as { data: { id: string } }
  const paths = [...OF_SESSIONS.map((path) => `session/${data.id}/${path}`), ...OF_SERVERS]
  for (const path of paths) {
    for (const answer of [await portico.fetch(`/api/${path}`), await portico.post(`/api/${path}`, {})]) {
      assert.deepEqual(await answer.json(), { _tag: 'NotFoundError', message: 'No such route' }, path)
    }
  }
  assert.equal((await portico.post(`/api/session/${data.id}/permission`, {})).status, 405)
  await portico.post(`/api/session/${data.id}/prompt`, {
    text: '/tool todowrite {}\n/tool question {}\n/tool webfetch {}',
  })
  await portico.post(`/api/experimental/session/${data.id}/wait`, undefined)
  const said = await (await portico.fetch(`/api/session/${data.id}/message`)).text()
  for (const tool of ['todowrite', 'question', 'webfetch'])
    assert.match(said, new RegExp(`The tool ${tool} is not available`))
})

test('refuses a password in the query', async () => {
  await using portico = await openPortico({ PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'correct horse' })
  const token = Buffer.from('portico:correct horse').toString('base64')
  const known = await portico.fetch('/api/info', { headers: { authorization: `Basic ${token}` } })
  const unknown = await portico.fetch(`/api/info?auth_token=${encodeURIComponent(token)}`)
  assert.deepEqual([known.status, unknown.status], [200, 401])
})

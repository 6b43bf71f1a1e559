import assert from 'node:assert/strict'
import test from 'node:test'
import { createOpencodeClient } from '@opencode-ai/sdk/v2/client'
import { openPortico } from '#test/support/portico.ts'

test('the published client creates, prompts, waits and reads, unchanged', async () => {
  await using portico = await openPortico({}, { 'README.md': '# A project\n' })
  const client = createOpencodeClient({ baseUrl: portico.url, directory: portico.project })
  const { session } = client.v2
  const made = await session.create({ agent: 'build' }, { throwOnError: true })
  const sessionID = made.data.data.id
  assert.deepEqual(made.data.data.location, { directory: portico.project })

  const text = '@README.md\n/tool list {"path":"."}'
  const source = { start: 0, end: 10, text: '@README.md' }
  const files = [{ uri: `file://${portico.project}/README.md`, source }]
  const agents = [{ name: 'explore', source }]
  const admitted = await session.prompt({ sessionID, prompt: { text, files, agents } }, { throwOnError: true })
  assert.equal(admitted.data.data.sessionID, sessionID)
  await session.wait({ sessionID }, { throwOnError: true })
  const said = await (await portico.fetch(`/api/session/${sessionID}/message?order=asc`)).text()
  assert.equal(said.split(`"mention":${JSON.stringify(source)}`).length, 3, 'the file and the agent have it')
  assert.match(said, /"status":"completed"/, 'the command of the prompt was carried out')

  const page = await session.messages({ sessionID, order: 'asc' }, { throwOnError: true })
  const types = page.data.data.map(({ type }) => type as string)
  assert.deepEqual([types[0], types.at(-2), types.at(-1)], ['user', 'assistant', 'idle'])
  const got = await session.get({ sessionID }, { throwOnError: true })
  assert.equal(got.data.data.id, sessionID)
  const listed = await session.list({}, { throwOnError: true })
  assert.deepEqual(
    listed.data.data.map(({ id }) => id),
    [sessionID],
  )
  const active = await session.active({ throwOnError: true })
  assert.deepEqual(active.data.data, {})
})

test('the published client finds agents and the location, and understands errors', async () => {
  await using portico = await openPortico()
  const client = createOpencodeClient({ baseUrl: portico.url, directory: portico.project })
  const agents = await client.v2.agent.list({}, { throwOnError: true })
  assert.equal(agents.data.data[0]?.id, 'build')
  const location = await client.v2.location.get({}, { throwOnError: true })
  assert.equal(location.data.directory, portico.project)
  const missing = await client.v2.session.get({ sessionID: 'ses_none' })
  assert.equal(missing.error?._tag, 'SessionNotFoundError')
})

test('the published client follows the event stream', async () => {
  await using portico = await openPortico()
  const client = createOpencodeClient({ baseUrl: portico.url })
  const leave = new AbortController()
  const { stream } = await client.v2.event.subscribe({ signal: leave.signal })
  const types: string[] = []
  for await (const event of stream) {
    // On a busy machine the stream may begin before that of the catalog.
    if ((event.type as string) === 'server.resync') continue
    types.push(event.type as string)
    if (types.length === 1) await client.v2.session.create({ agent: 'build' }, { throwOnError: true })
    if (types.length === 2) break
  }
  leave.abort()
  assert.deepEqual(types, ['server.connected', 'session.created'])
})

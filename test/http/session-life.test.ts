import assert from 'node:assert/strict'
import test from 'node:test'
import { call } from '#test/support/client.ts'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'

interface Info {
  readonly id: string
  readonly [member: string]: unknown
}

/** A session with a prompt and its answer. */
async function talked(portico: Portico, id: string, more: object = {}): Promise<InstanceClient> {
  const client = new InstanceClient(portico.url)
  await client.createSession({ id, ...more })
  await client.prompt(id, { text: 'Hello' })
  await client.wait(id)
  return client
}

const notFound = (sessionID: string) => ({
  status: 404,
  json: { _tag: 'SessionNotFoundError', message: `Session not found: ${sessionID}`, sessionID },
})

test('session.remove answers 204, and the session is nowhere afterwards', async () => {
  await using portico = await openPortico()
  await talked(portico, 'ses_1')
  await portico.post('/api/session', { id: 'ses_2' })
  const answer = await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
  assert.deepEqual([answer.status, await answer.text(), answer.headers.get('content-type')], [204, '', null])
  for (const path of ['', '/message', '/inbox', '/permission']) {
    assert.deepEqual(await call(portico, 'GET', `/api/session/ses_1${path}`), notFound('ses_1'))
  }
  assert.deepEqual(await call(portico, 'DELETE', '/api/session/ses_1'), notFound('ses_1'))
  assert.deepEqual(await call(portico, 'POST', '/api/session/ses_1/prompt', { text: 'Hi' }), notFound('ses_1'))
  const { json } = await call(portico, 'GET', '/api/session')
  assert.deepEqual(
    (json as { data: Info[] }).data.map(({ id }) => id),
    ['ses_2'],
  )
})

test('session.remove of a reused id does not touch the new session', async () => {
  await using portico = await openPortico()
  for (const round of [1, 2, 3]) {
    const client = await talked(portico, 'ses_1', { title: `round ${round}` })
    assert.equal((await client.messages('ses_1')).length, 4)
    await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
  }
})

for (const [others, stay] of [
  ['nobody else listens', false],
  ['others listen', true],
] as const) {
  test(`session.remove is emitted to live readers, and is all of the session that a returning reader receives, while ${others}`, async () => {
    await using portico = await openPortico()
    const stream = await openStream(`${portico.url}/api/event`)
    const first = await readUntil(stream, (text) => text.includes('server.connected'))
    await talked(portico, 'ses_1')
    await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
    const live = await readUntil(stream, (text) => text.includes('session.deleted'))
    assert.match(live, /session\.created/)
    if (!stay) stream.destroy()
    const [position] = /(?<=^id: ).*$/m.exec(first) ?? ['']
    await portico.post('/api/session', { id: 'ses_2' })
    const again = await openStream(`${portico.url}/api/event`, { 'last-event-id': position })
    const replayed = await readUntil(again, (text) => text.includes('"ses_2"'))
    for (const each of [stream, again]) each.destroy()
    const types = replayed.match(/(?<="type":")session\.[a-z.]+/g)
    assert.deepEqual(types, ['session.deleted', 'session.created'])
    const deleted = /^data: (.*session\.deleted.*)$/m.exec(replayed)?.[1] ?? '{}'
    assert.deepEqual(JSON.parse(deleted).data, { sessionID: 'ses_1' })
  })
}

test('session.fork copies the history under new ids, and the two go on by themselves', async () => {
  await using portico = await openPortico()
  const client = await talked(portico, 'ses_1', { title: 'Title', metadata: { a: 1 } })
  const { status, json } = await call(portico, 'POST', '/api/session/ses_1/fork', {})
  const { id, time, ...info } = (json as { data: Info }).data
  const original = await client.messages('ses_1')
  const boundary = { type: 'through', messageID: original.at(-1)?.id }
  assert.equal(status, 200)
  assert.deepEqual(info, {
    ...{ projectID: 'global', cost: 0, tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } } },
    ...{ location: { directory: portico.project }, subpath: '', title: 'Title (fork #1)', metadata: { a: 1 } },
    fork: { sessionID: 'ses_1', boundary },
  })
  assert.deepEqual(Object.keys(time as object).sort(), ['created', 'updated'])
  const copied = await client.messages(id)
  const nameless = (messages: readonly { readonly id: string }[]) => messages.map((each) => ({ ...each, id: '' }))
  assert.deepEqual(nameless(copied), nameless(original))
  assert.equal(new Set([...original, ...copied].map((message) => message.id)).size, 8)
  await portico.fetch('/api/session/ses_1', { method: 'DELETE' })
  await client.prompt(id, { text: 'Go on' })
  await client.wait(id)
  assert.equal((await client.messages(id)).length, 8)
  const answer = await portico.post(`/api/session/${id}/fork`, { before: copied[0]?.id })
  const empty = ((await answer.json()) as { data: Info }).data
  assert.deepEqual(await client.messages(empty.id), [])
  assert.deepEqual(empty.fork, { sessionID: id, boundary: { type: 'before', messageID: copied[0]?.id } })
})

test('session.fork names the reason of a refusal', async () => {
  await using portico = await openPortico()
  assert.deepEqual(await call(portico, 'POST', '/api/session/ses_1/fork', {}), notFound('ses_1'))
  await portico.post('/api/session', { id: 'ses_1' })
  assert.deepEqual(await call(portico, 'POST', '/api/session/ses_1/fork', { before: null }), {
    status: 400,
    json: { _tag: 'InvalidRequestError', message: 'Session ses_1 has no messages', kind: 'empty_session' },
  })
  assert.deepEqual(await call(portico, 'POST', '/api/session/ses_1/fork', { before: 'msg_1' }), {
    status: 404,
    json: { _tag: 'MessageNotFoundError', message: 'Message not found: msg_1', sessionID: 'ses_1', messageID: 'msg_1' },
  })
  for (const body of [{ before: 'x' }, { after: 'msg_1' }]) {
    const refused = await call(portico, 'POST', '/api/session/ses_1/fork', body)
    assert.deepEqual([refused.status, (refused.json as { kind: string }).kind], [400, 'Payload'])
  }
})

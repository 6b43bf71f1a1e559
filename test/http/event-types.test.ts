import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { event } from '#gateway/event/schemas.ts'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** What each event of a session has besides the session's id; optional members are left out. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'session.created': ['projectID', 'location', 'slug', 'version'],
  'session.forked': ['parentID', 'boundary'],
  'session.deleted': [],
  'session.renamed': ['title'],
  'session.metadata.updated': ['metadata'],
  'session.permissions': ['permissions'],
  'session.agent.selected': ['agent'],
  'session.model.selected': ['model'],
  'session.moved': ['location', 'projectID'],
  'session.viewed': ['idle'],
  'session.inbox.enqueued': ['inboxID', 'item'],
  'session.inbox.delivered': ['inboxID'],
  'session.inbox.cancelled': ['inboxID'],
  'session.inbox.delivery.changed': ['inboxID', 'delivery'],
  'session.synthetic': ['text'],
  'session.execution.started': [],
  'session.execution.succeeded': [],
  'session.execution.failed': ['error'],
  'session.execution.interrupted': ['reason'],
  'session.step.started': ['assistantMessageID', 'agent', 'model', 'started'],
  'session.step.streamed': ['assistantMessageID'],
  'session.step.ended': ['assistantMessageID', 'finish', 'cost', 'tokens'],
  'session.step.failed': ['assistantMessageID', 'error'],
  'session.retry.scheduled': ['assistantMessageID', 'attempt', 'at', 'error'],
  'session.text.started': ['assistantMessageID', 'ordinal'],
  'session.text.delta': ['assistantMessageID', 'ordinal', 'delta'],
  'session.text.ended': ['assistantMessageID', 'ordinal', 'text'],
  'session.reasoning.started': ['assistantMessageID', 'ordinal'],
  'session.reasoning.delta': ['assistantMessageID', 'ordinal', 'delta'],
  'session.reasoning.ended': ['assistantMessageID', 'ordinal', 'text'],
  'session.tool.input.started': ['assistantMessageID', 'id', 'name'],
  'session.tool.input.delta': ['assistantMessageID', 'id', 'delta'],
  'session.tool.input.ended': ['assistantMessageID', 'id', 'text'],
  'session.tool.called': ['assistantMessageID', 'id', 'input', 'executed'],
  'session.tool.progress': ['assistantMessageID', 'id', 'metadata'],
  'session.tool.success': ['assistantMessageID', 'id', 'content', 'executed'],
  'session.tool.failed': ['assistantMessageID', 'id', 'error', 'executed'],
  'session.compaction.started': ['reason', 'recent'],
  'session.compaction.delta': ['text'],
  'session.compaction.ended': ['reason', 'text', 'recent'],
  'session.compaction.failed': ['reason', 'error'],
  'session.usage.recorded': ['source', 'cost', 'tokens'],
  'session.usage.updated': ['cost', 'tokens'],
  'session.status': ['status'],
  'session.idle': [],
  'permission.asked': ['id', 'action', 'resources'],
  'permission.replied': ['requestID', 'reply'],
}

/** Those that are never kept. Permission requests are, so that a returning client learns of a waiting one. */
const VOLATILE = /\.delta$|^session\.(tool\.progress|status|idle|usage\.updated)$/

const small = { providerID: 'portico', id: 'echo-small' }
const ask = [{ action: 'bash', resource: '*', effect: 'ask' }]
const HEADERS = { 'content-type': 'application/json' }

const DATA_URI = `data:text/plain;base64,${Buffer.from('Only in the inbox').toString('base64')}`
const fileUri = ({ project }: Portico) => `file://${join(project, 'opencode.json')}`

interface Seen {
  readonly type: string
  readonly created: number
  readonly durable?: { readonly aggregateID: string; readonly seq: number; readonly version: number }
  readonly location?: { readonly directory: string }
  readonly data: Readonly<Record<string, unknown>>
}

function eventsOf(text: string): Seen[] {
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') && line.endsWith('}') ? [JSON.parse(line.slice(6))] : []))
}

/** Makes a session do what each event reports. */
async function doEverything(portico: Portico): Promise<void> {
  const path = (id: string, rest = '') => `/api/session/${id}${rest}`
  const send = async (id: string, rest: string, body: object, method = 'POST') => {
    const init = { method, headers: HEADERS, body: JSON.stringify(body) }
    const answer = await portico.fetch(path(id, rest), init)
    assert.ok(answer.ok, `${rest} ${await answer.clone().text()}`)
    return answer
  }
  const settled = (id: string) => portico.fetch(path(id, '/wait'), { method: 'POST' })
  const say = async (id: string, text: string) => {
    await send(id, '/prompt', { text })
    await settled(id)
  }
  await portico.post('/api/session', { id: 'ses_1' })
  await say('ses_1', '/reasoning thinking\nHello')
  await say('ses_1', '/tool bash {"command":"echo a; sleep 0.6; echo b"}')
  await say('ses_1', '/tool read {"path":"missing"}')
  await say('ses_1', '/fail 400')
  await send('ses_1', '', { title: 'Named', metadata: { a: 1 }, permissions: ask }, 'PATCH')
  await send('ses_1', '/prompt', { text: '/tool bash {"command":"pwd"}' })
  const requests = async () =>
    ((await (await portico.fetch(path('ses_1', '/permission'))).json()) as { data: { id: string }[] }).data
  await waitFor('a permission request', async () => (await requests()).length === 1)
  await send('ses_1', `/permission/${(await requests())[0]?.id}/reply`, { reply: 'once' })
  await settled('ses_1')
  const files = [{ uri: DATA_URI, name: 'note.txt', description: 'A note' }, { uri: fileUri(portico) }]
  await send('ses_1', '/prompt', { id: 'msg_waits', text: 'Waits', files, delivery: 'queue', resume: false })
  await send('ses_1', '/inbox/msg_waits', { delivery: 'steer' }, 'PATCH')
  await settled('ses_1')
  await send('ses_1', '/prompt', { id: 'msg_goes', text: 'Goes', resume: false })
  assert.equal((await portico.fetch(path('ses_1', '/inbox/msg_goes'), { method: 'DELETE' })).status, 204)
  await send('ses_1', '/synthetic', { text: 'Said by a program', resume: false })
  await send('ses_1', '/prompt', { text: '/fail 429' })
  await waitFor('a retry', async () =>
    (await (await portico.fetch(path('ses_1', '/message?limit=1'))).text()).includes('"retry"'),
  )
  await portico.fetch(path('ses_1', '/interrupt'), { method: 'POST' })
  await settled('ses_1')
  await send('ses_1', '/agent', { agent: 'plan' })
  await send('ses_1', '/view', { idle: 9_999_999_999_999 })
  await mkdir(join(portico.project, 'below'))
  await send('ses_1', '/move', { directory: 'below' })
  await send('ses_1', '/fork', {})
  await portico.post('/api/session', { id: 'ses_2', title: 'Small' })
  await send('ses_2', '/model', { model: small })
  await say('ses_2', `/length 5\n${Array(700).fill('word').join(' ')}`)
  await send('ses_2', '/compact', {})
  await settled('ses_2')
  await portico.post('/api/session', { id: 'ses_3', title: 'Dense', model: small })
  await say('ses_3', 'x '.repeat(20_000))
  assert.equal((await portico.fetch(path('ses_3'), { method: 'DELETE' })).status, 204)
}

test('every event of a session is sent, with its members, and durable where it is kept', async () => {
  await using portico = await openPortico({}, { 'opencode.json': '{"agents":{"title":{"disabled":false}}}' })
  const stream = await openStream(`${portico.url}/api/event`)
  const reading = readUntil(stream, (text) => text.includes('"type":"session.deleted"'))
  await doEverything(portico)
  const events = eventsOf(await reading)
  stream.destroy()
  const declared = event.def.options.map(({ shape }) => [...shape.type.values][0] as string)
  const ofSessions = declared.filter((type) => /^(session|permission)\./.test(type))
  assert.deepEqual(Object.keys(MEMBERS).sort(), ofSessions.sort())
  const missing = ofSessions.filter((type) => !events.some((one) => one.type === type))
  assert.deepEqual(missing, [])
  for (const { type, data, durable, location, created } of events) {
    const members = MEMBERS[type]
    if (members === undefined) continue
    for (const member of ['sessionID', ...members]) assert.ok(member in data, `${type} ${member}`)
    assert.ok(Number.isInteger(created) && location !== undefined, type)
    const kept = durable === undefined ? undefined : [durable.aggregateID, durable.version]
    assert.deepEqual(kept, VOLATILE.test(type) ? undefined : [data.sessionID, 1], type)
  }
  const waiting = events.find(({ data }) => data.inboxID === 'msg_waits')
  assert.deepEqual(waiting?.data.item, {
    type: 'user',
    payload: {
      text: 'Waits',
      files: [
        { mime: 'text/plain', source: { type: 'inline' }, name: 'note.txt', description: 'A note' },
        { mime: 'text/plain', source: { type: 'uri', uri: fileUri(portico) }, name: 'opencode.json' },
      ],
    },
    delivery: 'queue',
  })
  const log = eventsOf(await (await portico.fetch('/api/experimental/session/ses_1/log')).text()).slice(0, -1)
  assert.deepEqual(
    log,
    events.filter(({ durable }) => durable?.aggregateID === 'ses_1'),
  )
})

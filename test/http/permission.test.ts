import assert from 'node:assert/strict'
import test from 'node:test'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitUntil } from '#test/support/wait-until.ts'

interface Request {
  readonly id: string
  readonly sessionID: string
  readonly [member: string]: unknown
}

/** A session whose echo requests permission to write a file, and the waiting request. */
async function asking(portico: Portico): Promise<Request> {
  const permissions = [{ action: 'edit', resource: '*', effect: 'ask' }]
  const made = await portico.post('/api/session', { permissions })
  const { id } = ((await made.json()) as { data: { id: string } }).data
  const text = '/tool write {"path":"out.txt","content":"hello"}'
  const admitted = await portico.post(`/api/session/${id}/prompt`, { text })
  assert.equal(admitted.status, 200)
  return waitUntil('a request that waits', async () => {
    const answer = await portico.fetch(`/api/session/${id}/permission`)
    return ((await answer.json()) as { data: Request[] }).data[0]
  })
}

const idle = (portico: Portico, id: string) => portico.fetch(`/api/session/${id}/wait`, { method: 'POST' })

async function toolState(portico: Portico, id: string): Promise<{ status: string; error?: { type: string } }> {
  const answer = await portico.fetch(`/api/session/${id}/message?order=asc`)
  const { data } = (await answer.json()) as { data: { content?: { type: string; state: never }[] }[] }
  const part = data.flatMap(({ content }) => content ?? []).find(({ type }) => type === 'tool')
  return part?.state ?? assert.fail('no tool call')
}

test('a request that waits is listed for its session and for all, got by its id, and shaped as documented', async () => {
  await using portico = await openPortico()
  const request = await asking(portico)
  const { id, sessionID, source, save: _, ...rest } = request
  assert.match(id, /^per_/)
  const { resources } = rest as unknown as { resources: string[] }
  assert.deepEqual(rest, { action: 'edit', resources })
  assert.equal(resources.length, 1)
  assert.deepEqual(Object.keys(source as object), ['type', 'messageID', 'id'])
  const all = await portico.fetch('/api/permission/request')
  assert.deepEqual(await all.json(), { data: [request] })
  const one = await portico.fetch(`/api/session/${sessionID}/permission/${id}`)
  assert.deepEqual(await one.json(), { data: request })
})

test('once lets the call run, and the request is gone', async () => {
  await using portico = await openPortico()
  const { id, sessionID } = await asking(portico)
  const reply = await portico.post(`/api/session/${sessionID}/permission/${id}/reply`, { reply: 'once' })
  assert.deepEqual([reply.status, await reply.text()], [204, ''])
  await idle(portico, sessionID)
  assert.equal((await toolState(portico, sessionID)).status, 'completed')
  const again = await portico.post(`/api/session/${sessionID}/permission/${id}/reply`, { reply: 'once' })
  assert.equal(again.status, 404)
  const { message: _, ...body } = (await again.json()) as { message: string }
  assert.deepEqual(body, { _tag: 'PermissionNotFoundError', requestID: id })
})

test('reject refuses the call, and the run goes on with the message of the reply', async () => {
  await using portico = await openPortico()
  const { id, sessionID } = await asking(portico)
  const reply = { reply: 'reject', message: 'Not there' }
  assert.equal((await portico.post(`/api/session/${sessionID}/permission/${id}/reply`, reply)).status, 204)
  await idle(portico, sessionID)
  assert.equal((await toolState(portico, sessionID)).status, 'error')
})

test('a reply other than the three is 400; an unknown request is 404', async () => {
  await using portico = await openPortico()
  const made = await portico.post('/api/session', {})
  const { id } = ((await made.json()) as { data: { id: string } }).data
  const path = `/api/session/${id}/permission/per_none`
  for (const body of [{}, { reply: 'maybe' }, { reply: 'once', extra: 1 }, { reply: 'reject', message: 1 }]) {
    assert.equal((await portico.post(`${path}/reply`, body)).status, 400)
  }
  assert.equal((await portico.post(`${path}/reply`, { reply: 'once' })).status, 404)
  assert.equal((await portico.fetch(path)).status, 404)
})

test('permanent approvals are listed by project, and ask again once they are revoked', async () => {
  await using portico = await openPortico()
  const { id, sessionID } = await asking(portico)
  await portico.post(`/api/session/${sessionID}/permission/${id}/reply`, { reply: 'always' })
  await idle(portico, sessionID)
  const listed = async (query = '') => {
    const answer = await portico.fetch(`/api/permission/saved${query}`)
    assert.equal(answer.status, 200)
    return ((await answer.json()) as { data: { id: string }[] }).data
  }
  const [saved = assert.fail(), ...others] = await listed()
  assert.deepEqual(others, [])
  assert.match(saved.id, /^apr_/)
  assert.deepEqual(saved, { id: saved.id, projectID: 'global', action: 'edit', resource: 'out.txt' })
  assert.deepEqual(await listed('?projectID=global'), [saved])
  assert.deepEqual(await listed('?projectID=other'), [])
  for (let times = 0; times < 2; times++) {
    const removed = await portico.fetch(`/api/permission/saved/${saved.id}`, { method: 'DELETE' })
    assert.deepEqual([removed.status, await removed.text()], [204, ''])
  }
  assert.deepEqual(await listed(), [])
  await asking(portico)
})

test('the request of a child session reaches those who watch its parent, and can be answered there', async () => {
  await using portico = await openPortico()
  const permissions = [{ action: 'edit', resource: '*', effect: 'ask' }]
  await portico.post('/api/session', { id: 'ses_root', permissions })
  const stream = await openStream(`${portico.url}/api/event?sessionID=ses_root`)
  const prompt = '/tool write {"path":"out.txt","content":"hello"}'
  const input = { description: 'Write', prompt, subagent_type: 'general' }
  await portico.post('/api/session/ses_root/prompt', { text: `/tool task ${JSON.stringify(input)}` })
  const asked = await readUntil(stream, (text) => text.includes('permission.asked'))
  const [, child] = /"type":"session.tool.progress".*"sessionID":"(ses_[^r"][^"]*)","agent":"general"/.exec(asked) ?? []
  assert.ok(child, 'the call names its session as soon as that is there')
  const listed = (await (await portico.fetch('/api/permission/request')).json()) as { data: Request[] }
  for (const [id, seen] of [
    ['ses_root', listed],
    [child, listed],
    ['ses_other', { data: [] }],
  ] as const) {
    if (id === 'ses_other') await portico.post('/api/session', { id })
    assert.deepEqual(await (await portico.fetch(`/api/session/${id}/permission`)).json(), seen)
  }
  assert.deepEqual(
    listed.data.map(({ sessionID }) => sessionID),
    [child],
  )
  const of = (id: string) => `/api/session/${id}/permission/${listed.data[0]?.id}`
  assert.deepEqual(await (await portico.fetch(of('ses_root'))).json(), { data: listed.data[0] })
  assert.equal((await portico.fetch(of('ses_other'))).status, 404)
  const replied = async (id: string) => (await portico.post(`${of(id)}/reply`, { reply: 'once' })).status
  assert.deepEqual([await replied('ses_other'), await replied('ses_root'), await replied(child)], [404, 204, 404])
  await idle(portico, 'ses_root')
  assert.equal((await toolState(portico, 'ses_root')).status, 'completed')
  assert.equal((await toolState(portico, child)).status, 'completed')
  stream.destroy()
})

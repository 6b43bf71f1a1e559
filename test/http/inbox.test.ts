import assert from 'node:assert/strict'
import test from 'node:test'
import { call } from '#test/support/client.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { eventsDuring } from '#test/support/session-events.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='

/** Every `time` becomes `time`, since it differs in each run. */
function timeless(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, member: unknown) => (key === 'time' ? 'time' : member))
}

async function open(portico: Portico, id = 'ses_a'): Promise<string> {
  assert.equal((await call(portico, 'POST', '/api/session', { id })).status, 200)
  return `/api/session/${id}`
}

async function settled(portico: Portico, id = 'ses_a'): Promise<void> {
  assert.equal((await call(portico, 'POST', `/api/experimental/session/${id}/wait`)).status, 204)
}

async function waiting(portico: Portico, path: string): Promise<string[]> {
  const { data } = (await call(portico, 'GET', `${path}/inbox`)).json as { data: { id: string; delivery: string }[] }
  return data.map(({ id, delivery }) => `${id} ${delivery}`)
}

const conflict = (id: string, problem: string) => ({
  status: 409,
  json: { _tag: 'ConflictError', message: `The item ${id} ${problem}`, resource: id },
})

const noSession = {
  status: 404,
  json: { _tag: 'SessionNotFoundError', message: 'Session not found: ses_none', sessionID: 'ses_none' },
}

test('waiting inputs are listed as they were admitted, in order of admission', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  assert.deepEqual(await call(portico, 'GET', `${path}/inbox`), { status: 200, json: { data: [] } })
  const files = [{ uri: PNG, name: 'dot.png' }]
  const prompt = { id: 'msg_1', text: 'Look', files, metadata: { a: 1 }, delivery: 'queue', resume: false }
  const admitted = await call(portico, 'POST', `${path}/prompt`, prompt)
  const synthetic = { id: 'msg_2', text: 'The build failed', description: 'CI', metadata: { b: [2] }, resume: false }
  const added = await call(portico, 'POST', `${path}/synthetic`, synthetic)
  assert.deepEqual(timeless(added), {
    status: 200,
    json: {
      data: {
        id: 'msg_2',
        sessionID: 'ses_a',
        time: 'time',
        type: 'synthetic',
        payload: { text: 'The build failed', description: 'CI', metadata: { b: [2] } },
        delivery: 'steer',
      },
    },
  })
  const items = [admitted, added].map(({ json }) => (json as { data: unknown }).data)
  assert.deepEqual(await call(portico, 'GET', `${path}/inbox`), { status: 200, json: { data: items } })
  assert.deepEqual(await call(portico, 'GET', '/api/session/ses_none/inbox'), noSession)
})

test('a synthetic text becomes a message that the model sees as input, with its events', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  const synthetic = { id: 'msg_1', text: 'Say nothing', description: 'a hint', metadata: { a: 1 } }
  const { text, description, metadata } = synthetic
  const events = await eventsDuring(portico, 'ses_a', 'session.step.started', () =>
    call(portico, 'POST', `${path}/synthetic`, synthetic),
  )
  const payload = { text, description, metadata }
  assert.deepEqual(
    events.slice(0, -1).map(({ type, data }) => [type, data]),
    [
      ['session.inbox.enqueued', { inboxID: 'msg_1', item: { type: 'synthetic', payload, delivery: 'steer' } }],
      ['session.execution.started', {}],
      ['session.status', { status: { type: 'busy' } }],
      ['session.inbox.delivered', { inboxID: 'msg_1' }],
      ['session.synthetic', payload],
    ],
  )
  await settled(portico)
  const { json } = await call(portico, 'GET', `${path}/message?order=asc`)
  const [first, ...rest] = (json as { data: { type: string }[] }).data
  assert.deepEqual(timeless(first), { id: 'msg_1', type: 'synthetic', time: 'time', ...payload })
  assert.deepEqual([rest[0]?.type, rest.at(-1)?.type], ['assistant', 'idle'])
})

test('an id admits once, and is a conflict where it names something of another type', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  const synthetic = { id: 'msg_1', text: 'Hi', resume: false }
  const first = await call(portico, 'POST', `${path}/synthetic`, synthetic)
  assert.deepEqual(await call(portico, 'POST', `${path}/synthetic`, synthetic), first)
  await call(portico, 'POST', `${path}/prompt`, { id: 'msg_2', text: 'Hi', resume: false })
  for (const [route, body] of [
    ['synthetic', { ...synthetic, text: 'Other' }],
    ['synthetic', { ...synthetic, id: 'msg_2' }],
    ['prompt', synthetic],
  ] as const) {
    const { id } = body
    assert.deepEqual(await call(portico, 'POST', `${path}/${route}`, body), {
      status: 409,
      json: { _tag: 'ConflictError', message: `The id ${id} is used for something else`, resource: id },
    })
  }
})

test('the delivery of a waiting input can be changed, and steer starts a run', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  await call(portico, 'POST', `${path}/prompt`, { id: 'msg_1', text: 'Hi', delivery: 'queue', resume: false })
  const change = (delivery: string, id = 'msg_1') => call(portico, 'PATCH', `${path}/inbox/${id}`, { delivery })
  const done = { status: 204, json: undefined }
  await call(portico, 'POST', `${path}/prompt`, { id: 'msg_2', text: 'Hi', resume: false })
  await call(portico, 'DELETE', `${path}/inbox/msg_2`)
  assert.deepEqual(await change('queue'), conflict('msg_1', 'already has the delivery queue'))
  assert.deepEqual(await change('queue', 'msg_2'), conflict('msg_2', 'was cancelled'))
  assert.deepEqual(await change('queue', 'msg_none'), conflict('msg_none', 'was never in the inbox of this session'))
  const events = await eventsDuring(portico, 'ses_a', 'session.inbox.delivered', async () => {
    assert.deepEqual(await change('steer'), done)
  })
  assert.deepEqual(
    events.map(({ type, data }) => [type, data]),
    [
      ['session.inbox.delivery.changed', { inboxID: 'msg_1', delivery: 'steer' }],
      ['session.execution.started', {}],
      ['session.status', { status: { type: 'busy' } }],
      ['session.inbox.delivered', { inboxID: 'msg_1' }],
    ],
  )
  await settled(portico)
  for (const delivery of ['queue', 'steer']) {
    assert.deepEqual(await change(delivery), conflict('msg_1', 'has already entered the conversation'))
  }
  for (const body of [{}, { delivery: 'now' }, { delivery: 'steer', more: 1 }, { delivery: null }]) {
    const { status, json: error } = await call(portico, 'PATCH', `${path}/inbox/msg_1`, body)
    assert.deepEqual([status, (error as { _tag: string })._tag], [400, 'InvalidRequestError'], JSON.stringify(body))
  }
  const none = await call(portico, 'PATCH', '/api/session/ses_none/inbox/msg_1', { delivery: 'steer' })
  assert.deepEqual(none, noSession)
})

test('a cancelled input never runs, and cancelling it again has no effect', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  for (const id of ['msg_1', 'msg_2']) {
    await call(portico, 'POST', `${path}/prompt`, { id, text: 'Hi', delivery: 'queue', resume: false })
  }
  const cancel = (id: string) => call(portico, 'DELETE', `${path}/inbox/${id}`)
  const events = await eventsDuring(portico, 'ses_a', 'session.agent.selected', async () => {
    for (const id of ['msg_1', 'msg_1', 'msg_none'])
      assert.deepEqual(await cancel(id), { status: 204, json: undefined })
    await call(portico, 'POST', `${path}/agent`, { agent: 'plan' })
  })
  assert.deepEqual(
    events.map(({ type, data }) => [type, data]),
    [
      ['session.inbox.cancelled', { inboxID: 'msg_1' }],
      ['session.agent.selected', { agent: 'plan' }],
    ],
  )
  assert.deepEqual(await waiting(portico, path), ['msg_2 queue'])
  await call(portico, 'POST', `${path}/prompt`, { id: 'msg_3', text: 'Hi' })
  await settled(portico)
  const { data } = (await call(portico, 'GET', `${path}/message?order=asc`)).json as { data: { id: string }[] }
  const ids = data.map(({ id }) => id)
  assert.deepEqual([ids.includes('msg_1'), ids.includes('msg_2'), ids.includes('msg_3')], [false, true, true])
  assert.deepEqual(await call(portico, 'DELETE', '/api/session/ses_none/inbox/msg_1'), noSession)
  assert.deepEqual(await call(portico, 'DELETE', `${path}/inbox/wrong`), {
    status: 400,
    json: { _tag: 'InvalidRequestError', message: 'inboxID: must be a message id (msg_…)', field: 'inboxID' },
  })
})

test('a cancelled input is refused when it is sent again', async () => {
  await using portico = await openPortico()
  const path = await open(portico)
  for (const [route, id] of [
    ['prompt', 'msg_1'],
    ['synthetic', 'msg_2'],
  ]) {
    const sent = { id, text: 'Hi' }
    assert.equal((await call(portico, 'POST', `${path}/${route}`, { ...sent, resume: false })).status, 200)
    await call(portico, 'DELETE', `${path}/inbox/${id}`)
    assert.deepEqual(await call(portico, 'POST', `${path}/${route}`, sent), {
      status: 409,
      json: {
        _tag: 'ConflictError',
        message: `The item ${id} was cancelled and will never run; to send it again, use another id`,
        resource: id,
      },
    })
  }
  await settled(portico)
  assert.deepEqual((await call(portico, 'GET', `${path}/message`)).json, { data: [], cursor: {} })
})

test('a resume lets all waiting inputs in before the model is called, however many there are', async () => {
  await using portico = await openPortico()
  const session = await open(portico)
  for (let n = 0; n < 130; n++) {
    await call(portico, 'POST', `${session}/synthetic`, { id: `msg_${n}`, text: `Text ${n}`, resume: false })
  }
  assert.equal((await call(portico, 'POST', `${session}/resume`)).status, 204)
  await settled(portico)
  const { json } = await call(portico, 'GET', `${session}/message?limit=200&order=asc`)
  const types = (json as { data: { type: string }[] }).data.map(({ type }) => type)
  assert.deepEqual(types.slice(0, 131), [...Array(130).fill('synthetic'), 'assistant'])
})

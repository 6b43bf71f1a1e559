import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { everyMessageJson } from '#test/support/every-message.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'

const IMPORT = '/api/experimental/session/import'
const tokens = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
const info = {
  ...{ id: 'ses_1', title: 'Title', agent: 'plan', model: { id: 'large', providerID: 'acme', variant: 'high' } },
  ...{ cost: 0.25, tokens, outcome: 'failed' },
  time: { created: 1_000, updated: 2_000, idle: 3_000, viewed: 2_500, archived: 4_000 },
  ...{ metadata: { ticket: 42 }, permissions: [{ action: 'edit', resource: '*.md', effect: 'allow' }] },
  ...{ projectID: 'elsewhere', location: { directory: '/elsewhere' }, subpath: 'deep' },
}
const file = Buffer.alloc(300_000, 'abcdefg')
const messages = everyMessageJson(file.toString('base64'))

interface Transfer {
  readonly info: Record<string, unknown> & { time: Record<string, number> }
  readonly messages: unknown[]
}

async function exported(portico: Portico, id = 'ses_1'): Promise<Transfer> {
  const answer = await portico.fetch(`/api/experimental/session/${id}/export`)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { data: Transfer }).data
}

async function refused(answer: Promise<Response>): Promise<[number, unknown]> {
  const { status, ...rest } = await answer.then(async (each) => ({ status: each.status, body: await each.json() }))
  return [status, rest.body]
}

test('session.import keeps messages of every kind, with every member, and what belongs to the session', async () => {
  await using portico = await openPortico()
  const before = Date.now()
  const answer = await portico.post(IMPORT, { info, messages })
  assert.equal(answer.status, 200, await answer.clone().text())
  const { data } = (await answer.json()) as { data: Transfer['info'] }
  const { updated } = data.time
  assert.ok(updated !== undefined && updated >= before)
  assert.deepEqual(data, {
    ...{ ...info, time: { ...info.time, updated } },
    ...{ projectID: 'global', location: { directory: portico.project }, subpath: '' },
  })
  assert.deepEqual(await exported(portico), { info: data, messages })
  // An archived session is listed like any other; a fork of it is not archived.
  const list = (await (await portico.fetch('/api/session')).json()) as { data: unknown[] }
  assert.deepEqual(list.data, [data])
  const fork = (await (await portico.post('/api/session/ses_1/fork', {})).json()) as { data: Transfer['info'] }
  const { created = 0 } = fork.data.time
  assert.ok(created >= before)
  assert.deepEqual(fork.data.time, { created, updated: created })
})

test('a session whose last run ended in the future is imported as if it had just ended, and goes on', async () => {
  await using portico = await openPortico()
  const late = 253_402_300_799_999
  const time = { created: late, idle: late, viewed: late, archived: late }
  const before = Date.now()
  const answer = await portico.post(IMPORT, { info: { ...info, time }, messages: [] })
  assert.equal(answer.status, 200, await answer.clone().text())
  const { data } = (await answer.json()) as { data: Transfer['info'] }
  const { idle = 0, viewed } = data.time
  assert.ok(idle >= before && idle <= Date.now() && viewed === idle)
  assert.equal((await portico.post('/api/session/ses_1/prompt', { text: 'hi' })).status, 200)
  assert.equal((await portico.post('/api/experimental/session/ses_1/wait', {})).status, 204)
  const [first] = ((await (await portico.fetch('/api/session')).json()) as { data: Transfer['info'][] }).data
  assert.ok((first?.time.idle ?? 0) > idle)
  for (const beyond of [late + 1, Number.MAX_SAFE_INTEGER]) {
    const body = { info: { ...info, id: 'ses_2', time: { ...time, idle: beyond } }, messages: [] }
    assert.equal((await refused(portico.post(IMPORT, body)))[0], 400)
  }
})

test('an export that is imported elsewhere is exported the same, but for its place and the time of the import', async () => {
  await using first = await openPortico()
  await using second = await openPortico()
  await first.post('/api/session', { id: 'ses_1', metadata: { a: [1, null] } })
  await first.post('/api/session/ses_1/prompt', { id: 'msg_1', text: 'Hi', files: [{ uri: 'data:,abc' }] })
  await first.post('/api/experimental/session/ses_1/wait', {})
  const out = await exported(first)
  const location = { directory: second.outside }
  assert.equal((await second.post(IMPORT, { ...out, location })).status, 200)
  const again = await exported(second)
  const time = { ...out.info.time, updated: again.info.time.updated }
  assert.deepEqual(again, { messages: out.messages, info: { ...out.info, location, time } })
})

test('a sanitized export can be imported, too', async () => {
  await using portico = await openPortico()
  await portico.post(IMPORT, { info, messages })
  const sanitized = await portico.fetch('/api/experimental/session/ses_1/export?sanitize=true')
  const { data } = (await sanitized.json()) as { data: Transfer }
  await using second = await openPortico()
  const answer = await second.post(IMPORT, data)
  assert.equal(answer.status, 200, await answer.text())
  assert.deepEqual((await exported(second)).messages, data.messages)
})

test('members that are null are absent, `native` is the state of the provider, and what is not settled is left out', async () => {
  await using portico = await openPortico()
  const head = { time: { created: 1 }, agent: 'a', model: { id: 'a', providerID: 'b', variant: null } }
  const said = [
    {
      ...{ ...head, id: 'msg_1', type: 'assistant', error: null, native: { r: 1 }, time: { created: 1, completed: 2 } },
      content: [
        { type: 'text', text: 'a', native: { s: null } },
        { type: 'reasoning', text: 'b', native: { s: 2 }, time: null },
        {
          ...{ type: 'tool', id: 'c', name: 'd', native: { s: 3 }, executed: null, time: { created: 1, ran: null } },
          state: { status: 'running', input: { e: null }, metadata: {} },
        },
      ],
    },
    { ...head, id: 'msg_2', type: 'assistant', content: [] },
    { id: 'msg_3', type: 'shell', time: { created: 1 }, shellID: 's', command: 'c', status: 'running' },
  ]
  const answer = await portico.post(IMPORT, {
    info: { ...info, title: null, outcome: null },
    messages: said,
    location: null,
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  assert.deepEqual((await exported(portico)).messages, [
    {
      ...{ id: 'msg_1', type: 'assistant', agent: 'a', model: { id: 'a', providerID: 'b' } },
      ...{ providerState: { r: 1 }, time: { created: 1, completed: 2 } },
      content: [
        { type: 'text', text: 'a', state: { s: null } },
        { type: 'reasoning', text: 'b', state: { s: 2 } },
        {
          ...{ type: 'tool', id: 'c', name: 'd', providerState: { s: 3 }, time: { created: 1 } },
          state: { status: 'running', input: { e: null }, metadata: {} },
        },
      ],
    },
  ])
})

test('members that an import omits stay absent, and empty ones stay empty', async () => {
  await using portico = await openPortico()
  const head = { time: { created: 1 } }
  const step = { agent: 'a', model: { id: 'a', providerID: 'b' }, time: { created: 1, completed: 2 } }
  const error = { type: 'unknown', message: '' }
  const said = [
    { ...step, id: 'msg_1', type: 'assistant', content: [], error, snapshot: {} },
    {
      ...{ ...step, id: 'msg_2', type: 'assistant', content: [], rawFinish: '', error: { ...error, status: 0 } },
      snapshot: { start: '', end: '' },
    },
    { ...head, id: 'msg_3', type: 'agent-switched', agent: 'a' },
    { ...head, id: 'msg_4', type: 'agent-switched', agent: 'a', previous: '' },
    { ...head, id: 'msg_5', type: 'compaction', reason: 'auto', status: 'failed', error },
    {
      ...{ ...head, id: 'msg_9', type: 'location-switched', location: { directory: '/a' } },
      previous: { location: { directory: '/b' } },
    },
    { ...head, id: 'msg_6', type: 'compaction', reason: 'auto', status: 'completed', summary: '', recent: '' },
    {
      ...{ ...head, id: 'msg_7', type: 'user', text: '' },
      files: [
        { data: '', mime: 'text/plain', source: { type: 'inline' } },
        { data: '', mime: 'text/plain', source: { type: 'uri', uri: '' }, name: '' },
      ],
    },
    {
      ...{ ...step, id: 'msg_8', type: 'assistant' },
      content: [
        {
          ...{ type: 'tool', id: 'c', name: 'd', time: { created: 1, ran: 1, completed: 2 } },
          state: {
            ...{ status: 'completed', input: {} },
            content: [
              { type: 'file', uri: 'https://example.org/a', mime: '' },
              { type: 'file', uri: '', mime: '', name: '' },
              { type: 'file', uri: 'data:text/plain;base64,', mime: 'text/plain' },
            ],
          },
        },
      ],
    },
  ]
  const tokens = { ...info.tokens, context: 5 }
  const bare = { id: 'ses_1', ...{ cost: info.cost, tokens, time: info.time } }
  const answer = await portico.post(IMPORT, { info: { ...bare, agent: '' }, messages: said })
  assert.equal(answer.status, 200, await answer.clone().text())
  const out = await exported(portico)
  assert.deepEqual(out.messages, said)
  assert.deepEqual(Object.keys(out.info).sort(), ['cost', 'id', 'location', 'projectID', 'subpath', 'time', 'tokens'])
})

test('session.import refuses ids that exist and a parent that does not, and nothing is left', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_there' })
  await portico.post('/api/session/ses_there/prompt', { id: 'msg_there', text: 'Hi', resume: false })
  const conflict = (what: string, resource: string) => [
    409,
    { _tag: 'ConflictError', message: `${what} already exists: ${resource}`, resource },
  ]
  const there = { ...info, id: 'ses_there' }
  assert.deepEqual(await refused(portico.post(IMPORT, { info: there, messages })), conflict('Session', 'ses_there'))
  const taken = [...messages, { id: 'msg_there', type: 'system', time: { created: 1 }, text: '' }]
  assert.deepEqual(await refused(portico.post(IMPORT, { info, messages: taken })), conflict('Message', 'msg_there'))
  const twice = [...messages, messages[3]]
  assert.deepEqual(await refused(portico.post(IMPORT, { info, messages: twice })), conflict('Message', 'msg_every_4'))
  const orphan = { ...info, parentID: 'ses_nobody' }
  const missing = { _tag: 'SessionNotFoundError', message: 'Session not found: ses_nobody', sessionID: 'ses_nobody' }
  assert.deepEqual(await refused(portico.post(IMPORT, { info: orphan, messages })), [404, missing])
  const own = { ...info, parentID: 'ses_1' }
  assert.equal((await portico.post(IMPORT, { info: own, messages })).status, 404)
  assert.equal((await portico.fetch('/api/session/ses_1')).status, 404)
  // Everything imported before is gone: the same ids can be imported again.
  assert.equal((await portico.post(IMPORT, { info: { ...info, parentID: 'ses_there' }, messages })).status, 200)
})

test('one of several imports of one id at once succeeds, and the others are refused as if it existed already', async () => {
  await using portico = await openPortico()
  const others = {
    status: 409,
    body: { _tag: 'ConflictError', message: 'Session already exists: ses_1', resource: 'ses_1' },
  }
  const text = (id: number) => ({ id: `msg_${id}`, type: 'user', text: 'x'.repeat(2_000), time: { created: 1 } })
  const given = { info, messages: Array.from({ length: 400 }, (_, id) => text(id)) }
  const answers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const answer = await portico.post(IMPORT, given)
      return { status: answer.status, body: await answer.json() }
    }),
  )
  const refused = answers.filter(({ status }) => status !== 200)
  assert.deepEqual(refused, [others, others])
})

test('session.import refuses a body that is none, wherever it goes wrong', async () => {
  await using portico = await openPortico({ PORTICO_IMPORT_LIMIT_BYTES: '1000000' })
  const send = (body: string, type = 'application/json') =>
    refused(portico.fetch(IMPORT, { method: 'POST', headers: { 'content-type': type }, body }))
  const invalid = (message: string, status = 400) => [status, { _tag: 'InvalidRequestError', message, kind: 'Payload' }]
  const json = JSON.stringify(info)
  const message = JSON.stringify(messages[0])
  const notJson = invalid('The body is not valid JSON')
  for (const body of [
    'x',
    '{',
    `{"info":${json},`,
    `{"info":${json},"messages":[}`,
    `{"messages":[],}`,
    '{}x',
    '{"info":]}',
  ]) {
    assert.deepEqual(await send(body), notJson, body)
  }
  assert.deepEqual(await send(`{"info":${json},"messages":[${message}] "x":1}`), notJson)
  assert.deepEqual(await send('{}'), invalid('info: is required'))
  assert.deepEqual(await send(`{"info":${json}}`), invalid('messages: is required'))
  assert.deepEqual(await send(`{"info":${json},"messages":1}`), invalid('messages: must be an array'))
  assert.deepEqual(
    await send(`{"info":${json},"messages":[],"more":1}`),
    invalid('The body has the unknown member "more"'),
  )
  const hint =
    'data: must be omitted: send its content, `info` and `messages`, which `jq .data` extracts from an export'
  for (const data of [`{"info":${json},"messages":[]}`, '{}']) {
    assert.deepEqual(await send(`{"data":${data}}`), invalid(hint))
  }
  assert.deepEqual(await send('[]'), invalid('The body must be an object'))
  const surrogate = invalid('messages.1.text: has a lone surrogate')
  assert.deepEqual(await send(`{"info":${json},"messages":[${message},{"text":"\\ud800"}]}`), surrogate)
  const wrong = { ...messages[3], text: 1 }
  const second = await send(JSON.stringify({ info, messages: [messages[4], wrong] }))
  assert.deepEqual(second, invalid('messages.1.text: must be a string'))
  const id = await send(JSON.stringify({ info, messages: [{ ...messages[3], id: 'x' }] }))
  assert.deepEqual(id, invalid('messages.0.id: must be a message id (msg_…)'))
  const base64 = JSON.stringify({ info, messages: everyMessageJson('YWJ=') })
  assert.deepEqual(await send(base64), invalid('messages.0.files.0.data: must be canonical base64'))
  const large = JSON.stringify({ info, messages: [messages[0], { ...messages[3], text: 'x'.repeat(500_000) }] })
  assert.deepEqual(await send(large), invalid('The body has more than 1000000 bytes', 413))
  assert.deepEqual(await send(json, 'text/plain'), invalid('The content type must be application/json', 415))
  assert.equal((await portico.fetch('/api/session/ses_1')).status, 404)
})

test('session.import reads bodies that come byte by byte, with escapes and spaces', async () => {
  await using portico = await openPortico()
  const { hostname, port } = new URL(portico.url)
  const some = everyMessageJson('YWI/YQ==').slice(0, 4)
  const body = JSON.stringify({ location: { directory: portico.outside }, info, messages: some }, null, 1)
  const escaped = body.replaceAll('YWI/YQ==', String.raw`YWI\/YQ\u003d=`).replace('Hello', String.raw`H\"\\\u00e9`)
  const bytes = Buffer.from(escaped)
  const head = `POST ${IMPORT} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nConnection: close\r\n`
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += String(chunk)
  })
  socket.write(`${head}Content-Length: ${bytes.length}\r\n\r\n`)
  socket.setNoDelay(true)
  for (const byte of bytes) {
    socket.write(Buffer.of(byte))
    if (byte === 0x5c || byte === 0x22) await new Promise((resolve) => setImmediate(resolve))
  }
  await new Promise((resolve) => socket.on('close', resolve))
  assert.match(answer, /^HTTP\/1.1 200 /)
  const out = await exported(portico)
  const expected = JSON.parse(JSON.stringify(some).replace('Hello', String.raw`H\"\\\u00e9`))
  assert.deepEqual(out.messages, expected)
})

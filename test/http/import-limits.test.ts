import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'
import { sendBytes } from '#test/support/raw-socket.ts'

const IMPORT = '/api/experimental/session/import'
const MOST = 20 * 1_048_576
const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

/** A session with one message that has an image. */
function transfer(id: string, data: string, name: string) {
  const file = { data, mime: 'image/png', source: { type: 'inline' }, name }
  const message = { id: `msg_of_${id}`, type: 'user', time: { created: 1 }, text: 'See', files: [file] }
  return { info: { id, cost: 0, tokens, time: { created: 1 } }, messages: [message] }
}

/** A session with one tool call, which returned the address of a file. */
function withAddress(uri: string) {
  const id = `ses_${uri.length}`
  const content = [{ type: 'file', uri, mime: 'text/plain' }]
  const time = { created: 1, completed: 2 }
  const call = { type: 'tool', id: 'c', name: 'read', state: { status: 'completed', input: {}, content }, time }
  const model = { providerID: 'portico', id: 'echo' }
  const message = {
    id: `msg_${uri.length}`,
    type: 'assistant',
    agent: 'build',
    model,
    content: [call],
    time,
    finish: 'stop',
  }
  return { info: { id, cost: 0, tokens, time: { created: 1 } }, messages: [message] }
}

test('a file of an import has at most 20 MiB; the session service says so, and the error names the member', async () => {
  await using portico = await openPortico()
  const send = (id: string, bytes: number) =>
    portico.post(IMPORT, transfer(id, Buffer.alloc(bytes).toString('base64'), 'a'))
  assert.equal((await send('ses_kept', MOST)).status, 200)
  const field = 'messages.0.files.0.data'
  const beyond = await send('ses_beyond', MOST + 1)
  assert.deepEqual(await beyond.json(), {
    _tag: 'InvalidRequestError',
    message: `${field}: must have at most ${MOST} bytes`,
    field,
  })
  assert.equal(beyond.status, 400)
  assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
})

test('an error of the session service names the member of the body that it is about', async () => {
  await using portico = await openPortico()
  const info = { id: 'ses_1', cost: 0, tokens, time: { created: 1 } }
  const model = { id: 'x'.repeat(257), providerID: 'stub' }
  const ofModel = 'must name a provider and a model of 1 to 256 characters'
  const switched = { id: 'msg_2', type: 'model-switched', time: { created: 1 }, model }
  const [withFile] = transfer('ses_1', 'AAAA', 'a').messages
  const directory = `/${'x'.repeat(4_096)}`
  for (const [body, field, problem] of [
    [{ info: { ...info, model }, messages: [] }, 'info.model', ofModel],
    [{ info, messages: [switched] }, 'messages.0.model', ofModel],
    [{ info, messages: [withFile, switched] }, 'messages.1.model', ofModel],
    [{ info, messages: [], location: { directory } }, 'location.directory', 'must have at most 4096 characters'],
    [
      { info, messages: [withFile], location: { directory } },
      'location.directory',
      'must have at most 4096 characters',
    ],
  ] as const) {
    const refused = await portico.post(IMPORT, body)
    const message = `${field}: ${problem}`
    assert.deepEqual(await refused.json(), { _tag: 'InvalidRequestError', message, field })
    assert.equal(refused.status, 400)
    assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
  }
})

test('refuses an address in place of content with more than 16,384 characters', async () => {
  await using portico = await openPortico()
  const send = (uri: string) => portico.post(IMPORT, withAddress(uri))
  const address = (length: number) => `https://x/${'x'.repeat(length - 10)}`
  assert.equal((await send(address(16_384))).status, 200)
  const field = 'messages.0.content.0.state.content.0.uri'
  const body = { _tag: 'InvalidRequestError', message: `${field}: must have at most 16384 characters`, field }
  const beyond = await send(address(16_385))
  assert.deepEqual([beyond.status, await beyond.json()], [400, body])
  assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
})

test('takes an export of a session with 10,000 messages, and exports the same again', async () => {
  await using portico = await openPortico()
  const time = { created: 1, completed: 2 }
  const said = (i: number) =>
    i % 2 === 0
      ? { id: `msg_${i}`, type: 'user', time: { created: 1 }, text: `Question ${i}`, metadata: { a: [i], b: { c: 1 } } }
      : {
          ...step(`msg_${i}`, [{ type: 'text', text: `Answer ${i}. `.repeat(30) }, call(3)]),
          ...{ time, tokens, cost: 0 },
        }
  const messages = Array.from({ length: 10_000 }, (_, i) => said(i))
  const given = { info: { id: 'ses_long', cost: 0, tokens, time: { created: 1 } }, messages }
  const first = await portico.post(IMPORT, given)
  assert.equal(first.status, 200, await first.clone().text())
  const exported = async () => {
    const answer = await portico.fetch('/api/experimental/session/ses_long/export')
    return ((await answer.json()) as { data: { info: object; messages: object[] } }).data
  }
  const data = await exported()
  assert.deepEqual(data.messages, messages)
  assert.equal((await portico.fetch('/api/session/ses_long', { method: 'DELETE' })).status, 204)
  // What is removed goes in the background, and its ids with it.
  for (;;) {
    const again = await portico.post(IMPORT, data)
    if (again.status === 200) break
    assert.equal(again.status, 409, await again.text())
  }
  assert.deepEqual((await exported()).messages, messages)
})

test('refuses a body above 64 MiB, whatever the setting, before it is sent', async () => {
  await using portico = await openPortico()
  const type = 'Content-Type: application/json\r\nConnection: close\r\nContent-Length: 67108865'
  const head = `POST ${IMPORT} HTTP/1.1\r\nHost: ${new URL(portico.url).host}\r\n${type}\r\n\r\n`
  const { status, body } = await sendBytes(portico.url, head)
  const message = 'The body has more than 67108864 bytes'
  assert.deepEqual([status, JSON.parse(body)], [413, { _tag: 'InvalidRequestError', message, kind: 'Payload' }])
})

test('refuses a message with more members than a service decodes in one go', async () => {
  await using portico = await openPortico()
  const output = Array.from({ length: 3 }, () => ({ type: 'text', text: '', state: { a: Array(40_000).fill(1) } }))
  const messages = [user('msg_1', {}), step('msg_2', output)]
  const refused = await portico.post(IMPORT, { info: { id: 'ses_1', cost: 0, tokens, time: { created: 1 } }, messages })
  const message = 'messages.1: must have at most 100000 members and items'
  assert.deepEqual(
    [refused.status, await refused.json()],
    [400, { _tag: 'InvalidRequestError', message, kind: 'Payload' }],
  )
})

test('a session runs whose imported file has a longer name than a model is shown', async () => {
  await using portico = await openPortico()
  assert.equal((await portico.post(IMPORT, transfer('ses_1', 'AAAA', 'x'.repeat(2_000)))).status, 200)
  const at = '/api/session/ses_1'
  assert.equal((await portico.post(`${at}/prompt`, { text: 'Go on' })).status, 200)
  await (await portico.post('/api/experimental/session/ses_1/wait', {})).text()
  const { data } = (await (await portico.fetch(`${at}/message?limit=1`)).json()) as { data: { error?: unknown }[] }
  assert.deepEqual([data.length, data[0]?.error], [1, undefined])
  const session = (await (await portico.fetch(at)).json()) as { data: { outcome: string } }
  assert.equal(session.data.outcome, 'succeeded')
})

const noted = { type: 'assistant', agent: 'build', model: { id: 'echo', providerID: 'portico' } }
const done = { created: 1, completed: 1 }
const step = (id: string, content: unknown[]) => ({ ...noted, id, content, finish: 'stop', time: done })
const texts = (count: number): unknown[] => Array(count).fill({ type: 'text', text: '' })

/** A call whose result has that many pieces. */
function call(count: number) {
  const state = { status: 'completed', input: {}, content: texts(count) }
  return { type: 'tool', id: 'call_1', name: 'look', state, time: done }
}

function user(id: string, members: object) {
  return { id, type: 'user', time: { created: 1 }, text: 'Hi', ...members }
}

test('a message of an import has a limited number of parts, pieces and bytes; the service refuses more, and names its place', async () => {
  await using portico = await openPortico()
  const send = (id: string, ...messages: object[]) =>
    portico.post(IMPORT, { info: { id, cost: 0, tokens, time: { created: 1 } }, messages })
  const agents = (count: number) => ({ agents: Array(count).fill({ name: 'build' }) })
  const text = (bytes: number) => ({ text: 'x'.repeat(bytes) })
  const bytes = 6.5 * 1_048_576
  const items = (most: number) => `must have at most ${most} items`
  const running = { ...step('msg_running', []), time: { created: 1 } }
  for (const [at, kept, passed, field, problem] of [
    ['parts', step('msg_1', texts(2_000)), step('msg_1', texts(2_001)), '.content', items(2_000)],
    ['pieces', step('msg_2', [call(1_000)]), step('msg_2', [call(1_001)]), '.content.0.state.content', items(1_000)],
    ['agents', user('msg_3', agents(2_000)), user('msg_3', agents(2_001)), '.agents', items(2_000)],
    [
      'bytes',
      user('msg_4', text(bytes - 200)),
      user('msg_4', text(bytes)),
      '',
      `must have at most ${bytes} bytes, not counting its files`,
    ],
  ] as const) {
    assert.equal((await send(`ses_${at}`, user(`msg_${at}`, {}), kept)).status, 200, at)
    // A message that is not imported keeps its place all the same.
    const answer = await send(`ses_${at}_beyond`, user(`msg_${at}_beyond`, {}), running, passed)
    const named = `messages.2${field}`
    assert.deepEqual(await answer.json(), {
      _tag: 'InvalidRequestError',
      message: `${named}: ${problem}`,
      field: named,
    })
    assert.equal(answer.status, 400)
    assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
    const left = await portico.fetch(`/api/session/ses_${at}_beyond`)
    assert.equal(left.status, 404)
    portico.rejections.length = 0
  }
})

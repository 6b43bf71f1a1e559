import assert from 'node:assert/strict'
import test from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'
import { openFacade } from '#test/support/facade.ts'
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
  const field = 'messages.files.[].data'
  const message = `${field}: must have at most ${MOST} bytes`
  const beyond = await send('ses_beyond', MOST + 1)
  assert.deepEqual(await beyond.json(), { _tag: 'InvalidRequestError', message, field })
  assert.equal(beyond.status, 400)
  assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
  const far = await send('ses_far', MOST + 3)
  assert.deepEqual(await far.json(), { _tag: 'InvalidRequestError', message, kind: 'Payload' })
  assert.deepEqual(portico.rejections, [])
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
    [{ info, messages: [switched] }, 'messages.model', ofModel],
    [{ info, messages: [withFile, switched] }, 'messages.model', ofModel],
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

test('a store that goes away in the middle of an import keeps nobody waiting for what is left of it', async () => {
  const abandoned: string[] = []
  const away = (): never => {
    throw new Rejection('STORE_UNAVAILABLE')
  }
  await using facade = await openFacade({
    reasons: storeReasons,
    session: {
      beginSessionImport: ({ session }) => ({ import: { sessionId: session?.sessionId ?? '', key: 'imp_1' } }),
      appendImportedMessages: away,
      abandonSessionImport: ({ import: begun }) => {
        abandoned.push(begun?.sessionId ?? '')
        return new Promise(() => {})
      },
    },
  })
  const info = { id: 'ses_1', cost: 0, tokens, time: { created: 1 } }
  const body = JSON.stringify({ info, messages: [{ id: 'msg_1', type: 'system', time: { created: 1 }, text: '' }] })
  const headers = { 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(25_000)
  const answer = await facade.fetch(IMPORT, { method: 'POST', headers, body, signal })
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '2'])
  assert.deepEqual(abandoned, ['ses_1'])
})

test('an address in place of content has at most 16,384 characters, and is refused before all of it has come', async () => {
  await using portico = await openPortico()
  const send = (uri: string) => portico.post(IMPORT, withAddress(uri))
  const address = (length: number) => `https://x/${'x'.repeat(length - 10)}`
  assert.equal((await send(address(16_384))).status, 200)
  const field = 'messages.content.[].state.content.[].uri'
  const body = { _tag: 'InvalidRequestError', message: `${field}: must have at most 16384 characters`, kind: 'Payload' }
  const beyond = await send(address(16_385))
  assert.deepEqual([beyond.status, await beyond.json()], [400, body])

  // Most of the body never arrives.
  const [begun = ''] = JSON.stringify(withAddress(`https://x/${'x'.repeat(1_000_000)}@`)).split('@')
  const type = 'Content-Type: application/json\r\nConnection: close\r\nContent-Length: 200000000'
  const head = `POST ${IMPORT} HTTP/1.1\r\nHost: ${new URL(portico.url).host}\r\n${type}\r\n\r\n`
  const early = await sendBytes(portico.url, head + begun)
  assert.deepEqual([early.status, JSON.parse(early.body)], [400, body])
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

test('a message of an import has so many parts, pieces and bytes at most; the service says so, and names its place', async () => {
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

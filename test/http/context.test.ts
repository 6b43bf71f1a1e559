import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { create } from '@bufbuild/protobuf'
import { createOpencodeClient } from '@opencode-ai/sdk/v2/client'
import { StreamSessionContextResponseSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { openFacade } from '#test/support/facade.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'

const CONTEXT = '/api/session/ses_1/context'
const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
const info = { id: 'ses_1', cost: 0, tokens, time: { created: 1 } }

const note = (n: number) => ({ id: `msg_${n}`, type: 'synthetic', time: { created: n }, text: `note ${n}` })
const compaction = (n: number, rest: object = {}) => ({
  ...{ id: `msg_${n}`, type: 'compaction', time: { created: n }, status: 'completed', reason: 'auto' },
  ...{ summary: `up to ${n}`, recent: '', ...rest },
})
const error = { type: 'compaction.failed', message: 'no' }
const failed = (n: number) => ({
  ...{ id: `msg_${n}`, type: 'compaction', time: { created: n }, status: 'failed', reason: 'manual', error },
})
const native = { summary: ' ', providerContext: { version: 1, messages: [] } }

/** The context of a session with those messages. */
async function contextOf(portico: Portico, messages: readonly object[]): Promise<unknown> {
  const imported = await portico.post('/api/experimental/session/import', { info, messages })
  assert.equal(imported.status, 200, await imported.text())
  const answer = await portico.fetch(CONTEXT)
  assert.equal(answer.status, 200)
  return answer.json()
}

test('session.context returns the whole conversation, files included, where nothing was summarized', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const files = [
    { uri: `data:text/plain;base64,${Buffer.alloc(2_000_000, 'abcdefg').toString('base64')}`, name: 'a.txt' },
    { uri: 'data:,', name: 'empty.txt' },
  ]
  assert.equal((await portico.post('/api/session/ses_1/prompt', { id: 'msg_1', text: 'Hi', files })).status, 200)
  await portico.post('/api/experimental/session/ses_1/wait', {})
  const answer = await portico.fetch(CONTEXT)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const listed = (await (await portico.fetch('/api/session/ses_1/message?order=asc')).json()) as { data: unknown[] }
  assert.deepEqual(await answer.json(), { data: listed.data })
  assert.ok(listed.data.length >= 3)
  const client = createOpencodeClient({ baseUrl: portico.url })
  const found = await client.v2.session.context({ sessionID: 'ses_1' }, { throwOnError: true })
  assert.deepEqual(found.data.data as unknown[], listed.data)
})

test('session.context begins with the last compaction that has a summary', async () => {
  await using portico = await openPortico()
  const long = Array.from({ length: 45 }, (_, i) => note(100 + i))
  const said = [note(1), compaction(2), note(3), compaction(4), ...long, failed(5), compaction(6, native), note(7)]
  assert.deepEqual(await contextOf(portico, said), { data: said.slice(3) })
})

test('session.context of a session without messages, and of one that ends with its compaction', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_2' })
  const empty = await portico.fetch('/api/session/ses_2/context')
  assert.deepEqual([empty.status, await empty.text()], [200, '{"data":[]}'])
  const summed = compaction(2, { summary: 'all', providerContext: { version: 1, messages: [] } })
  assert.deepEqual(await contextOf(portico, [note(1), summed]), { data: [summed] })
  const head = await portico.fetch(CONTEXT, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
})

test('session.context refuses a wrong id and a session that is not there', async () => {
  await using portico = await openPortico()
  const id = await portico.fetch('/api/session/nobody/context')
  assert.equal(id.status, 400)
  assert.deepEqual(await id.json(), { _tag: 'InvalidRequestError', message: 'Invalid session ID', field: 'sessionID' })
  const missing = await portico.fetch(CONTEXT)
  assert.equal(missing.status, 404)
  assert.deepEqual(await missing.json(), {
    ...{ _tag: 'SessionNotFoundError', message: 'Session not found: ses_1', sessionID: 'ses_1' },
  })
})

test('a message that cannot be read is an UnknownError with a reference, before anything is sent', async () => {
  const data = await mkdtemp(join(tmpdir(), 'portico-'))
  try {
    await using portico = await openPortico({ PORTICO_DATA_DIR: data })
    await contextOf(portico, [note(1), compaction(2), ...Array.from({ length: 45 }, (_, i) => note(100 + i))])
    await portico[Symbol.asyncDispose]()
    const file = new DatabaseSync(join(data, 'session.sqlite'))
    file.prepare(`UPDATE messages SET data = '{"text":' WHERE id = 'msg_140'`).run()
    file.close()
    await using again = await openPortico({ PORTICO_DATA_DIR: data })
    const answer = await again.fetch(CONTEXT)
    assert.equal(answer.status, 500)
    const { ref, ...body } = (await answer.json()) as { ref: string }
    assert.match(ref, /^err_[0-9a-f]{8}$/)
    assert.deepEqual(body, { _tag: 'UnknownError', message: 'Internal server error' })
    assert.ok(again.log.some((line) => line.ref === ref && line.err !== undefined))
  } finally {
    await rm(data, { recursive: true, force: true })
  }
})

test('a later failure to read content breaks the connection', async () => {
  const source = { case: 'blob', value: { hash: 'a'.repeat(64), size: 1 } } as const
  const files = [{ source, mime: 'text/plain' }]
  const text = 'x'.repeat(65_536)
  const message = { messageId: 'msg_1', createTime: 0, kind: { case: 'user' as const, value: { text, files } } }
  const item = create(StreamSessionContextResponseSchema, { item: { case: 'message', value: message } })
  await using facade = await openFacade({
    session: {
      async *streamSessionContext() {
        yield item
      },
    },
  })
  await assert.rejects(facade.fetch(CONTEXT).then((answer) => answer.text()))
})

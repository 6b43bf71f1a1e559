import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ExportSessionResponseSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { openFacade } from '#test/support/facade.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { untilStill } from '#test/support/until-still.ts'

const exported = (id: string, query = '') => `/api/experimental/session/${id}/export${query}`
const FILE = Buffer.alloc(2_000_000, 'abcdefg')

/** A session that has run once, with two files, the second of which is empty. */
async function conversation(portico: Portico): Promise<void> {
  const session = { id: 'ses_1', title: 'Title', metadata: { secret: 'SECRET' } }
  assert.equal((await portico.post('/api/session', session)).status, 200)
  const files = [
    { uri: `data:text/plain;base64,${FILE.toString('base64')}`, name: 'SECRET.txt', description: 'SECRET' },
    { uri: 'data:text/plain;base64,', name: 'empty.txt' },
  ]
  const prompt = { id: 'msg_1', text: 'SECRET', files, metadata: { secret: 'SECRET' } }
  const answer = await portico.post('/api/session/ses_1/prompt', prompt)
  assert.equal(answer.status, 200, await answer.text())
  assert.equal((await portico.post('/api/experimental/session/ses_1/wait', {})).status, 204)
}

async function json(answer: Response): Promise<{ data: Record<string, unknown> & unknown[] }> {
  assert.equal(answer.status, 200)
  return (await answer.json()) as { data: Record<string, unknown> & unknown[] }
}

test('session.export returns the session and all its messages, as the other operations show them', async () => {
  await using portico = await openPortico()
  await conversation(portico)
  const answer = await portico.fetch(exported('ses_1'))
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const info = await json(await portico.fetch('/api/session/ses_1'))
  const messages = await json(await portico.fetch('/api/session/ses_1/message?order=asc'))
  assert.deepEqual(await json(answer), { data: { info: info.data, messages: messages.data } })
  assert.ok(messages.data.length >= 3)
})

test('session.export of a session without messages has none, and HEAD says only how it would begin', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const info = await json(await portico.fetch('/api/session/ses_1'))
  assert.deepEqual(await json(await portico.fetch(exported('ses_1', '?sanitize=false'))), {
    data: { info: info.data, messages: [] },
  })
  const head = await portico.fetch(exported('ses_1'), { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
})

test('session.export with sanitize=true contains no content', async () => {
  await using portico = await openPortico()
  await conversation(portico)
  const answer = await portico.fetch(exported('ses_1', '?sanitize=true'))
  assert.equal(answer.status, 200)
  const text = await answer.text()
  assert.doesNotMatch(text, /SECRET|abcdefg|Title/)
  assert.ok(!text.includes(portico.project))
  const { info, messages } = JSON.parse(text).data
  const { id, metadata, title, location } = info
  assert.deepEqual(
    { id, metadata, title, location },
    {
      id: 'ses_1',
      metadata: { redacted: 'session-metadata:ses_1' },
      title: '[redacted:session-title:ses_1]',
      location: { directory: '/[redacted:session-directory:ses_1]' },
    },
  )
  const said = messages.find((message: { id: string }) => message.id === 'msg_1')
  assert.deepEqual(said, {
    ...{ id: 'msg_1', type: 'user', time: said.time, text: '[redacted:user-text:msg_1]' },
    files: [
      {
        ...{ data: '', mime: 'text/plain', source: { type: 'inline' } },
        ...{ name: '[redacted:user-name:msg_1]', description: '[redacted:user-description:msg_1]' },
      },
      { data: '', mime: 'text/plain', source: { type: 'inline' }, name: '[redacted:user-name:msg_1]' },
    ],
    metadata: { redacted: 'user-metadata:msg_1' },
  })
})

test('session.export refuses a wrong query, a wrong id and a session that is not there', async () => {
  await using portico = await openPortico()
  const wrong = await portico.fetch(exported('ses_1', '?sanitize=yes'))
  assert.equal(wrong.status, 400)
  assert.deepEqual(((await wrong.json()) as { kind: string }).kind, 'Query')
  const id = await portico.fetch(exported('nobody'))
  assert.deepEqual(await id.json(), { _tag: 'InvalidRequestError', message: 'Invalid session ID', field: 'sessionID' })
  const missing = await portico.fetch(exported('ses_1'))
  assert.equal(missing.status, 404)
  assert.deepEqual(await missing.json(), {
    ...{ _tag: 'SessionNotFoundError', message: 'Session not found: ses_1', sessionID: 'ses_1' },
  })
})

for (const stored of ['{', '5', 'null', '{"type":"user"}', '{"type":"nobody","id":"msg_1"}']) {
  test(`a stored message that cannot be read (${stored}) is an UnknownError with a reference, before anything is sent`, async () => {
    const data = await mkdtemp(join(tmpdir(), 'portico-'))
    try {
      await using portico = await openPortico({ PORTICO_DATA_DIR: data })
      await conversation(portico)
      await portico[Symbol.asyncDispose]()
      const file = new DatabaseSync(join(data, 'session.sqlite'))
      file.prepare("UPDATE messages SET data = ? WHERE type = 'assistant'").run(stored)
      file.close()
      await using again = await openPortico({ PORTICO_DATA_DIR: data })
      for (const answer of [
        await again.fetch(exported('ses_1')),
        await again.fetch('/api/session/ses_1/message'),
        await again.post('/api/session/ses_1/fork', {}),
      ]) {
        assert.equal(answer.status, 500)
        const { ref, ...body } = (await answer.json()) as { ref: string }
        assert.deepEqual(body, { _tag: 'UnknownError', message: 'Internal server error' })
        assert.ok(again.log.some((line) => line.ref === ref && line.err !== undefined))
      }
      const listed = (await (await again.fetch('/api/session')).json()) as { data: { id: string }[] }
      assert.deepEqual(
        listed.data.map(({ id }) => id),
        ['ses_1'],
      )
    } finally {
      await rm(data, { recursive: true, force: true })
    }
  })
}

const session = create(ExportSessionResponseSchema, {
  item: { case: 'session', value: { sessionId: 'ses_1', createTime: 0, updateTime: 0 } },
})

for (const [title, size] of [
  ['what breaks before anything was sent is an UnknownError', 1_000],
  ['what breaks later breaks the connection', 65_536],
] as const) {
  test(title, async () => {
    await using facade = await openFacade({
      session: {
        async *exportSession() {
          yield session
          const message = { messageId: 'msg_1', createTime: 0, kind: { case: 'user' as const, value: { text } } }
          yield { item: { case: 'message', value: message } }
          throw new Error('Broken')
        },
      },
    })
    const text = 'x'.repeat(size)
    const answer = facade.fetch(exported('ses_1'))
    if (size === 65_536) return assert.rejects(answer.then((it) => it.text()))
    assert.equal((await answer).status, 500)
    const { ref, ...body } = (await (await answer).json()) as { ref: string }
    assert.match(ref, /^err_/)
    assert.deepEqual(body, { _tag: 'UnknownError', message: 'Internal server error' })
  })
}

test('a client that hangs up ends the export, and one that does not read holds it up', async () => {
  const ended = Promise.withResolvers<void>()
  let sent = 0
  await using facade = await openFacade({
    session: {
      async *exportSession(_, { signal }) {
        yield session
        yield { item: { case: 'message', value: message } }
        try {
          for (; !signal.aborted; sent++) yield { item: { case: 'content', value: { data: new Uint8Array(786_432) } } }
        } finally {
          ended.resolve()
        }
      },
    },
  })
  const source = { case: 'blob', value: { hash: 'a'.repeat(64), size: 1 } } as const
  const files = [{ source, mime: 'text/plain' }]
  const message = { messageId: 'msg_1', createTime: 0, kind: { case: 'user' as const, value: { files } } }
  const request = get(`${facade.url}${exported('ses_1')}`)
  const [answer] = (await new Promise((resolve) => request.on('response', (response) => resolve([response])))) as [
    NodeJS.ReadableStream,
  ]
  answer.pause()
  // Once the buffers along the way are full.
  await untilStill('the pieces', () => sent)
  assert.ok(sent < 100, `${sent} pieces`)
  request.on('error', () => {}).destroy()
  await ended.promise
})

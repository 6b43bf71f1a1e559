import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'

const send = (portico: Portico, body: object): Promise<Response> => portico.post('/api/session/ses_1/prompt', body)

async function inbox(portico: Portico): Promise<number> {
  const answer = await portico.fetch('/api/session/ses_1/message')
  return ((await answer.json()) as { data: unknown[] }).data.length
}

test('a prompt may lie in the member `prompt`, as clients of 1.x send it, and means the same', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const said = { text: 'Hi', metadata: { a: 1 } }
  const forms: object[] = [
    { prompt: said },
    { ...said, prompt: null },
    { prompt: { ...said, files: null }, files: null },
  ]
  for (const [i, form] of forms.entries()) {
    const answer = await send(portico, { id: `msg_${i}`, resume: false, delivery: 'queue', ...form })
    assert.equal(answer.status, 200, JSON.stringify(form))
    const { data } = (await answer.json()) as { data: { payload: object; delivery: string } }
    assert.deepEqual([data.payload, data.delivery], [said, 'queue'])
  }
})

test('a prompt in both forms at once, or in neither, is 400 and admits nothing', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const prompt = { text: 'inner' }
  const refusals: [object, string][] = [
    [{ text: 'outer', prompt }, 'text: must not be set together with prompt'],
    [{ text: '', prompt }, 'text: must not be set together with prompt'],
    [{ files: [], prompt }, 'files: must not be set together with prompt'],
    [{ agents: [{ name: 'build' }], prompt }, 'agents: must not be set together with prompt'],
    [{ skills: [], prompt }, 'skills: must not be set together with prompt'],
    [{ metadata: {}, prompt }, 'metadata: must not be set together with prompt'],
    [{ prompt: null }, 'text: is required'],
    [{ prompt: { text: 'x', more: 1 } }, 'prompt: has the unknown member "more"'],
    [{ text: 'x', more: 1 }, 'The body has the unknown member "more"'],
    [{ txt: 'x' }, 'The body has the unknown member "txt", and text is required'],
  ]
  for (const [body, message] of refusals) {
    const answer = await send(portico, body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.deepEqual(await answer.json(), { _tag: 'InvalidRequestError', message, kind: 'Payload' })
  }
  assert.equal(await inbox(portico), 0)
})

test('the descriptions and ranges of a file have limits; a path of megabytes is not repeated in the error', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const uri = 'data:,a'
  const long = 'x'.repeat(20_000_000)
  for (const file of [
    { uri, description: long },
    { uri, name: long },
    { uri, mention: { start: 0, end: 1, text: long } },
    { uri: `file:///${long}` },
  ]) {
    const answer = await send(portico, { text: 'x', files: [file] })
    assert.equal(answer.status, 400)
    assert.ok((await answer.text()).length < 2_000)
  }
  const mention = { start: 0, end: 1, text: 'x'.repeat(600_000) }
  const many = await send(portico, { text: 'x', files: [{ uri, mention }], skills: [{ id: 'a', mention }] })
  assert.equal(many.status, 400)
  const message = 'text: must not be quoted by mentions with more than 1048576 characters in total'
  assert.deepEqual(await many.json(), { _tag: 'InvalidRequestError', message, field: 'text' })
  const answer = await send(portico, { text: 'x', files: [{ uri, description: 'x'.repeat(16_384) }], resume: false })
  assert.equal(answer.status, 200)
})

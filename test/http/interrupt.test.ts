import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

interface Message {
  readonly id: string
  readonly type: string
  readonly outcome?: string
}

async function json<T>(answer: Promise<Response>): Promise<T> {
  const { status, ...response } = await answer.then(async (it) => ({ status: it.status, body: await it.text() }))
  assert.ok(status < 300, response.body)
  return (response.body === '' ? undefined : JSON.parse(response.body)) as T
}

async function open(portico: Portico, body: object = {}): Promise<string> {
  return (await json<{ data: { id: string } }>(portico.post('/api/session', body))).data.id
}

/** The conversation in short: inputs by id, runs by their outcome. */
async function course(portico: Portico, id: string): Promise<string[]> {
  await json(portico.fetch(`/api/experimental/session/${id}/wait`, { method: 'POST' }))
  const { data } = await json<{ data: Message[] }>(portico.fetch(`/api/session/${id}/message?order=asc`))
  return data.flatMap((message) =>
    message.type === 'user' ? message.id : message.type === 'idle' ? String(message.outcome) : [],
  )
}

const prompt = (portico: Portico, id: string, body: object) => json(portico.post(`/api/session/${id}/prompt`, body))

test('a prompt right behind an interrupt is answered', async () => {
  await using portico = await openPortico()
  const id = await open(portico)
  for (const round of [1, 2, 3, 4, 5]) {
    await prompt(portico, id, { id: `msg_a${round}`, text: '/slow 60000\none two' })
    await waitFor('the run', async () => {
      const { data } = await json<{ data: Message[] }>(portico.fetch(`/api/session/${id}/message`))
      return data[0]?.type === 'assistant'
    })
    const interrupted = await json(portico.fetch(`/api/session/${id}/interrupt`, { method: 'POST' }))
    assert.deepEqual(interrupted, { interrupted: true })
    await prompt(portico, id, { id: `msg_b${round}`, text: 'Hello' })
    const ran = (await course(portico, id)).slice(-4)
    assert.deepEqual(ran, [`msg_a${round}`, 'interrupted', `msg_b${round}`, 'succeeded'])
  }
})

test('a prompt right behind a rejected permission is answered', async () => {
  await using portico = await openPortico()
  const id = await open(portico, { permissions: [{ action: 'edit', resource: '*', effect: 'ask' }] })
  for (const round of [1, 2, 3, 4, 5]) {
    const text = '/tool write {"path":"out.txt","content":"hello"}'
    await prompt(portico, id, { id: `msg_a${round}`, text })
    const request = await waitUntil('the request', async () => {
      const { data } = await json<{ data: { id: string }[] }>(portico.fetch(`/api/session/${id}/permission`))
      return data[0]
    })
    await json(portico.post(`/api/session/${id}/permission/${request.id}/reply`, { reply: 'reject' }))
    await prompt(portico, id, { id: `msg_b${round}`, text: 'Hello' })
    const ran = (await course(portico, id)).slice(-4)
    assert.deepEqual(ran, [`msg_a${round}`, 'interrupted', `msg_b${round}`, 'succeeded'])
  }
})

test('repeating a prompt that has run wakes parked inputs, and does nothing if none waits', async () => {
  await using portico = await openPortico()
  const id = await open(portico)
  const first = { id: 'msg_first', text: '/slow 60000\none two' }
  await prompt(portico, id, first)
  await waitFor('the run', async () => {
    const { data } = await json<{ data: Message[] }>(portico.fetch(`/api/session/${id}/message`))
    return data[0]?.type === 'assistant'
  })
  await prompt(portico, id, { id: 'msg_waits', text: 'Hello', delivery: 'queue' })
  await json(portico.fetch(`/api/session/${id}/interrupt`, { method: 'POST' }))
  assert.deepEqual(await course(portico, id), ['msg_first', 'interrupted'])
  await prompt(portico, id, { ...first, resume: false })
  assert.deepEqual(await course(portico, id), ['msg_first', 'interrupted'])
  await prompt(portico, id, first)
  const all = ['msg_first', 'interrupted', 'msg_waits', 'succeeded']
  assert.deepEqual(await course(portico, id), all)
  await prompt(portico, id, first)
  assert.deepEqual(await course(portico, id), all)
})

test('an interrupt with resume runs the steering inputs, and queued prompts stay parked until a resume', async () => {
  await using portico = await openPortico()
  const id = await open(portico)
  await prompt(portico, id, { id: 'msg_first', text: '/slow 60000\none two' })
  await waitFor('the run', async () => {
    const { data } = await json<{ data: Message[] }>(portico.fetch(`/api/session/${id}/message`))
    return data[0]?.type === 'assistant'
  })
  await prompt(portico, id, { id: 'msg_queued', text: 'Hello', delivery: 'queue' })
  await prompt(portico, id, { id: 'msg_steer', text: 'Hello' })
  const interrupt = (query: string) => portico.fetch(`/api/session/${id}/interrupt${query}`, { method: 'POST' })
  assert.deepEqual(await json(interrupt('?resume=true')), { interrupted: true })
  const before = ['msg_first', 'interrupted', 'msg_steer', 'succeeded']
  assert.deepEqual(await course(portico, id), before)
  assert.deepEqual(await json(interrupt('?resume=true')), { interrupted: false })
  assert.deepEqual(await course(portico, id), before)
  assert.equal((await interrupt('?resume=yes')).status, 400)
  const resumed = await portico.fetch(`/api/session/${id}/resume`, { method: 'POST' })
  assert.deepEqual([resumed.status, await resumed.text()], [204, ''])
  const { data } = await json<{ data: Message[] }>(portico.fetch(`/api/session/${id}/message`))
  assert.equal(data[0]?.outcome, 'succeeded', 'the answer comes when the session is idle')
  assert.deepEqual(await course(portico, id), [...before, 'msg_queued', 'succeeded'])
})

test('a resume continues an interrupted or failed run, and ends at once if nothing is left', async () => {
  await using portico = await openPortico()
  const id = await open(portico)
  const resume = async () => {
    const { status } = await portico.fetch(`/api/session/${id}/resume`, { method: 'POST' })
    assert.equal(status, 204)
  }
  await resume()
  assert.deepEqual(await course(portico, id), [])
  await prompt(portico, id, { id: 'msg_first', text: '/fail 400' })
  assert.deepEqual(await course(portico, id), ['msg_first', 'failed'])
  await resume()
  assert.deepEqual(await course(portico, id), ['msg_first', 'failed', 'failed'])
  await prompt(portico, id, { id: 'msg_next', text: 'Hello' })
  const all = ['msg_first', 'failed', 'failed', 'msg_next', 'succeeded']
  assert.deepEqual(await course(portico, id), all)
  await resume()
  assert.deepEqual(await course(portico, id), all)
  const unknown = await portico.fetch('/api/session/ses_none/resume', { method: 'POST' })
  const body = { _tag: 'SessionNotFoundError', message: 'Session not found: ses_none', sessionID: 'ses_none' }
  assert.deepEqual([unknown.status, await unknown.json()], [404, body])
})

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSource } from 'eventsource'
import OpenAI from 'openai'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri } from '#test/support/mongo.ts'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle, startSplit } from '#test/support/product.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

describe('the product in one process on SQLite', () => {
  whatItDoes((setting) => startSingle(setting))
})

describe('the product in five processes on MongoDB', { skip: mongoUri() === undefined && 'no MongoDB server' }, () => {
  const database = freshDatabaseName()
  const environment = { PORTICO_MONGODB_DATABASE: database }
  whatItDoes((setting) => startSplit(mongoUri() ?? '', { ...setting, environment }))
  after(() => dropDatabase(database))
})

function whatItDoes(start: (setting: { dataDirectory: string; project: string }) => Promise<Product>): void {
  const data = scratchDirectory()
  const project = scratchDirectory()
  let product: Product
  let client: InstanceClient

  before(async () => {
    mkdirSync(join(project.path, 'source'))
    writeFileSync(join(project.path, 'README.md'), '# Lighthouse\n\nCounts ships at night.\n')
    product = await start({ dataDirectory: data.path, project: project.path })
    client = new InstanceClient(product.url)
  })
  after(async () => {
    await product?.stop()
    data[Symbol.dispose]()
    project[Symbol.dispose]()
  })

  test('a prompt is answered by an agent that has looked into the project, and the events report it', async () => {
    const types: string[] = []
    const source = new EventSource(`${product.url}/api/event`)
    await new Promise((resolve) => source.addEventListener('message', resolve, { once: true }))
    source.addEventListener('message', ({ data }) => types.push((JSON.parse(data) as { type: string }).type))
    const sessionId = await client.createSession({ title: 'tour' })
    const { id } = await client.prompt(sessionId, { text: 'What is in this project?' })
    await client.wait(sessionId)
    const messages = await client.messages(sessionId)
    await waitFor('the last event', () => types.includes('session.execution.succeeded'))
    source.close()
    assert.equal(messages[0]?.id, id)
    const calls = messages.flatMap(({ content = [] }) => content).filter(({ type }) => type === 'tool')
    assert.deepEqual(
      calls.map(({ name, state }) => [name, state?.status]),
      [
        ['list', 'completed'],
        ['read', 'completed'],
      ],
    )
    const answer = messages.filter(({ type }) => type === 'assistant').at(-1)
    assert.match(answer?.content?.find(({ type }) => type === 'text')?.text ?? '', /Lighthouse/)
    assert.equal(messages.at(-1)?.type, 'idle')
    assert.equal(messages.at(-1)?.outcome, 'succeeded')
    for (const type of [
      'session.created',
      'session.inbox.enqueued',
      'session.inbox.delivered',
      'session.execution.started',
      'session.step.started',
      'session.text.delta',
      'session.tool.called',
      'session.tool.success',
      'session.step.ended',
      'session.execution.succeeded',
    ]) {
      assert.ok(types.includes(type), `no ${type} among ${types.join(' ')}`)
    }
  })

  test('a response comes whole and as a stream through the openai client, and only with a key', async () => {
    const openai = new OpenAI({ baseURL: `${product.url}/api/v1`, apiKey: KEYS.api, maxRetries: 0 })
    const whole = await openai.responses.create({ model: 'portico/echo', input: 'Hello there' })
    assert.equal(whole.status, 'completed')
    assert.match(whole.output_text, /Hello there/)
    let streamed = ''
    for await (const event of await openai.responses.create({
      model: 'portico/echo',
      input: 'Hello there',
      stream: true,
    })) {
      if (event.type === 'response.output_text.delta') streamed += event.delta
    }
    assert.equal(streamed, whole.output_text)
    const outsider = new OpenAI({ baseURL: `${product.url}/api/v1`, apiKey: 'sk-portico-outsider', maxRetries: 0 })
    await assert.rejects(outsider.responses.create({ model: 'portico/echo', input: 'Hello' }), { status: 401 })
  })

  test('an open permission request is listed, and a reply lets the run go on', async () => {
    const permissions = [{ action: 'bash', resource: '*', effect: 'ask' }]
    const sessionId = await client.createSession({ permissions })
    await client.prompt(sessionId, { text: '/tool bash {"command":"echo asked"}' })
    const request = await waitUntil('the question', async () => {
      const path = `/api/session/${sessionId}/permission`
      return ((await client.get(path)) as { data: { id: string; action: string }[] }).data[0]
    })
    assert.equal(request.action, 'bash')
    await client.post(`/api/session/${sessionId}/permission/${request.id}/reply`, { reply: 'once' })
    await client.wait(sessionId)
    const parts = (await client.messages(sessionId)).flatMap(({ content = [] }) => content)
    assert.equal(parts.find(({ type }) => type === 'tool')?.state?.status, 'completed')
  })

  test('a failed run is one line of the log, with the reason and without its content', async () => {
    const sessionId = await client.createSession()
    await client.prompt(sessionId, { text: '/fail 400\nA secret' })
    await client.wait(sessionId)
    const lines = () => product.processes().flatMap((one) => one.output().split('\n'))
    const own = () => lines().filter((line) => line.includes(sessionId) && line.includes('A run has failed'))
    await waitFor('the line', () => own().length > 0)
    assert.equal(own().length, 1)
    assert.match(own()[0] ?? '', /provider\.refused/)
    assert.ok(lines().every((line) => !line.includes('A secret')))
  })

  test('the stream of one session and its log report the same, and both can be read on from any event', async () => {
    const durable = (text: string): string[] => text.match(/^data: .*"durable".*$/gm) ?? []
    const until = (text: string): boolean => text.includes('"session.execution.succeeded"')
    const [own, other] = [await client.createSession(), await client.createSession()]
    const path = `${product.url}/api/event?sessionID=${own}`
    const stream = await openStream(path)
    const log = await openStream(`${product.url}/api/experimental/session/${own}/log?follow=true`)
    for (const sessionId of [other, own]) await client.prompt(sessionId, { text: 'Hello' })
    const [streamed, followed] = await Promise.all([readUntil(stream, until), readUntil(log, until)])
    const whole = await (await fetch(`${product.url}/api/experimental/session/${own}/log`)).text()
    assert.ok(!streamed.includes(other))
    assert.deepEqual(durable(streamed), durable(whole).slice(1))
    assert.deepEqual(durable(followed), durable(whole))
    assert.match(whole, /data: \{"type":"log.synced","aggregateID":"ses_[^"]+","seq":\d+\}\n\n$/)
    const [, second] = [...streamed.matchAll(/^id: (\S+)$/gm)]
    const again = await openStream(path, { 'last-event-id': second?.[1] ?? '' })
    assert.deepEqual(durable(await readUntil(again, until)), durable(streamed).slice(1))
    for (const each of [stream, log, again]) each.destroy()
  })

  test('an import that kill -9 cuts off leaves nothing, and can be repeated', async () => {
    const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
    const info = { id: `ses_imported_${Date.now()}`, cost: 0, tokens, time: { created: 1 } }
    const messages = Array.from({ length: 400 }, (_, n) => ({
      ...{ id: `msg_${info.id}_${n}`, type: 'user', time: { created: n }, text: `${n} `.repeat(5_000) },
      files: [{ data: Buffer.alloc(30_000, n).toString('base64'), mime: 'text/plain', source: { type: 'inline' } }],
    }))
    const body = JSON.stringify({ info, messages })
    const path = '/api/experimental/session/import'
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    const cut = request(`${product.url}${path}`, { method: 'POST', headers }).on('error', () => {})
    // All but the end has left this process: most of it was read, and written in many transactions.
    await new Promise((resolve) => cut.write(body.slice(0, -1), resolve))
    await product.kill()
    cut.destroy()
    product = await start({ dataDirectory: data.path, project: project.path })
    client = new InstanceClient(product.url)
    assert.equal((await fetch(`${product.url}/api/session/${info.id}`)).status, 404)
    // On MongoDB the transaction of the killed process lasts some seconds more, and keeps its records.
    const made = await waitUntil('an answer other than 503', async () => {
      const answer = await fetch(`${product.url}${path}`, { method: 'POST', headers, body })
      const text = await answer.text()
      if (answer.status !== 503) return { status: answer.status, text }
      // It is 24 MB: retried no sooner than the answer says.
      await sleep(Number(answer.headers.get('retry-after')) * 1_000)
      return undefined
    })
    assert.equal(made.status, 200, made.text)
    const exported = await client.get(`/api/experimental/session/${info.id}/export`)
    assert.deepEqual((exported as { data: { messages: unknown } }).data.messages, messages)
  })

  test('a second start finds everything again', async () => {
    const sessionId = await client.createSession({ title: 'kept' })
    await client.prompt(sessionId, { text: '/length 3' })
    await client.wait(sessionId)
    const before = await client.messages(sessionId)
    await product.stop()
    product = await start({ dataDirectory: data.path, project: project.path })
    client = new InstanceClient(product.url)
    assert.deepEqual(await client.messages(sessionId), before)
  })
}

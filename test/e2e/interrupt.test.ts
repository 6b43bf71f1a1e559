import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { EventSource } from 'eventsource'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { PRINTING } from '#test/support/printing.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle, startSplit } from '#test/support/product.ts'

/** A frozen process answers no route, however long one waits; in milliseconds. */
const ANSWER_MS = 120_000

/** Routes that each service answers. */
const ROUTES = ['/api/session/active', '/api/agent', '/api/location']

describe('in one process on SQLite', () => {
  interrupts((setting) => startSingle(setting))
})

describe('in five processes on MongoDB', { skip: skipWithoutMongo }, () => {
  const database = freshDatabaseName()
  const environment = { PORTICO_MONGODB_DATABASE: database }
  interrupts((setting) => startSplit(mongoUri() ?? '', { ...setting, environment }))
  after(() => dropDatabase(database))
})

function interrupts(start: (setting: { dataDirectory: string; project: string }) => Promise<Product>): void {
  const data = scratchDirectory()
  const project = scratchDirectory()
  let product: Product
  let client: InstanceClient

  before(async () => {
    product = await start({ dataDirectory: data.path, project: project.path })
    client = new InstanceClient(product.url)
  })
  after(async () => {
    await product?.kill()
    data[Symbol.dispose]()
    project[Symbol.dispose]()
  })

  for (const [how, command] of Object.entries(PRINTING)) {
    test(`a command that prints ${how} is interrupted, and every other route answers meanwhile`, async () => {
      const sessionId = await client.createSession()
      await using printing = await progressOf(product.url, sessionId)
      await client.prompt(sessionId, { text: `/tool bash ${JSON.stringify({ command })}` })
      await printing.seen
      const over = new AbortController()
      const answers = answersMeanwhile(product.url, over.signal)
      // A frozen process would block the tests that follow, and heeds no other signal.
      answers.catch(() => product.kill())
      assert.deepEqual(await client.post(`/api/session/${sessionId}/interrupt`, undefined), { interrupted: true })
      // Not `wait`, which would hide whether anything else is answered.
      await Promise.race([client.wait(sessionId), answers])
      over.abort()
      assert.ok((await answers) > 0)
      const messages = await client.messages(sessionId)
      assert.equal(messages.at(-1)?.outcome, 'interrupted')
      const call = messages.flatMap(({ content = [] }) => content).find(({ type }) => type === 'tool')
      assert.equal(call?.state?.status, 'error')
      assert.equal(call?.state?.error?.type, 'aborted')
      await client.prompt(sessionId, { text: '/length 1' })
      await client.wait(sessionId)
      assert.equal((await client.messages(sessionId)).at(-1)?.outcome, 'succeeded')
    })
  }
}

/** Listens for the progress of a session's tool calls; the stream is open when this returns. */
async function progressOf(url: string, sessionId: string): Promise<{ readonly seen: Promise<void> } & AsyncDisposable> {
  const source = new EventSource(`${url}/api/event`)
  const seen = Promise.withResolvers<void>()
  const stands = Promise.withResolvers<void>()
  source.addEventListener('message', ({ data }) => {
    stands.resolve()
    const { type, data: payload } = JSON.parse(data) as { type: string; data: { sessionID?: string } }
    if (type === 'session.tool.progress' && payload.sessionID === sessionId) seen.resolve()
  })
  await stands.promise
  return { seen: seen.promise, [Symbol.asyncDispose]: async () => source.close() }
}

/**
 * Sends requests until the signal aborts; returns how many were answered. Throws at the first that is not.
 */
async function answersMeanwhile(url: string, over: AbortSignal): Promise<number> {
  for (let answers = 0; ; answers++) {
    if (over.aborted && answers > 0) return answers
    const answer = await fetch(url + ROUTES[answers % ROUTES.length], { signal: AbortSignal.timeout(ANSWER_MS) })
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

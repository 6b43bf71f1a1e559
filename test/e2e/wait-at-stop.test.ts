import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startReplicas, startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** Anything that is not notified of the stop would hold the process for that long. */
const environment = { PORTICO_DRAIN_SECONDS: '600' }
type Stopped = { readonly product: Product; readonly stopSessions: () => Promise<number | null> }

async function single(setting: Setting): Promise<Stopped> {
  const product = await startSingle(setting)
  return { product, stopSessions: () => product.stop() }
}

const database = freshDatabaseName()

async function split(setting: Setting): Promise<Stopped> {
  const environment = { ...setting.environment, PORTICO_MONGODB_DATABASE: database }
  const product = await startReplicas(mongoUri() ?? '', { ...setting, environment }, 1)
  return { product, stopSessions: async () => (await product.sides[0]?.session.process().stop()) ?? null }
}

suite('a request that waits for a session is 503 when the session service stops', () => {
  if (skipWithoutMongo === false) after(() => dropDatabase(database))

  for (const [mode, start, skip] of [
    ['one process', single, false],
    ['five processes', split, skipWithoutMongo],
  ] as const) {
    test(`in ${mode}`, { skip }, async () => {
      using data = scratchDirectory()
      using project = scratchDirectory()
      const { product, stopSessions } = await start({ dataDirectory: data.path, project: project.path, environment })
      try {
        const client = new InstanceClient(product.url)
        const sessionId = await client.createSession({
          permissions: [{ action: 'bash', resource: '*', effect: 'ask' }],
        })
        await client.prompt(sessionId, { text: '/tool bash {"command":"true"}' })
        await waitFor('the permission request', async () => {
          const { data } = (await client.get(`/api/session/${sessionId}/permission`)) as { data: unknown[] }
          return data.length === 1
        })
        let over = false
        const wait = fetch(`${product.url}/api/session/${sessionId}/wait`, { method: 'POST' }).finally(() => {
          over = true
        })
        await new Promise((resolve) => setTimeout(resolve, 300))
        assert.equal(over, false)
        const stopped = stopSessions()
        const answer = await wait
        assert.equal(answer.status, 503)
        assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
        assert.equal(await stopped, 0)
      } finally {
        await product.kill()
      }
    })
  }
})

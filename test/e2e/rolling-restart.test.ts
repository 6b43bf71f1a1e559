import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { KEYS, type Process, startProcess } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

const CHECK_MS = 100

/** A typical balancer: goes round the servers that were ready at its last check, and never retries. */
async function startBalancer(targets: { readonly url: string; ready: boolean }[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  let turn = 0
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    const ready = targets.filter((target) => target.ready)
    const target = ready[turn++ % ready.length]
    const fail = (problem: string): void => {
      if (!response.headersSent) response.writeHead(502)
      response.end(problem)
    }
    if (target === undefined) return fail('nobody is ready')
    const { method, url, headers } = incoming
    const outgoing = request(`${target.url}${url}`, { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', (error) => fail(error.message))
    incoming.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const over = new AbortController()
  const check = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const target of targets) {
        target.ready = await fetch(`${target.url}/readyz`)
          .then(({ ok }) => ok)
          .catch(() => false)
      }
      await sleep(CHECK_MS)
    }
  }
  const checking = check()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      over.abort()
      await checking
      agent.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}

const title = 'two gateways are restarted one after the other under load: nothing is refused, nothing is cut off'

test(title, { skip: skipWithoutMongo }, async () => {
  const database = freshDatabaseName()
  const environment = {
    PORTICO_HOST: '127.0.0.1',
    PORTICO_AUTH: 'bearer',
    PORTICO_BOOTSTRAP_API_KEY: KEYS.api,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management,
    PORTICO_MONGODB_URI: mongoUri() ?? '',
    PORTICO_MONGODB_DATABASE: database,
    PORTICO_INTERNAL_SECRET: randomBytes(24).toString('hex'),
    // On a busy machine the balancer checks late.
    PORTICO_UNREADY_SECONDS: '6',
    PORTICO_DRAIN_SECONDS: '60',
  }
  const running: Process[] = []
  const start = async (entry: string, more: Record<string, string>): Promise<Process> => {
    const started = await startProcess(entry, { ...environment, ...more })
    running.push(started)
    return started
  }
  try {
    const identity = await start('services/identity/main.ts', { PORTICO_SERVICE_PORT: '0' })
    const toIdentity = { PORTICO_IDENTITY_URL: identity.url }
    const inference = await start('services/inference/main.ts', { PORTICO_SERVICE_PORT: '0', ...toIdentity })
    const urls = { ...toIdentity, PORTICO_INFERENCE_URL: inference.url }
    const gateways = [
      await start('gateway/main.ts', { PORTICO_PORT: '0', ...urls }),
      await start('gateway/main.ts', { PORTICO_PORT: '0', ...urls }),
    ]
    const targets = gateways.map(({ url }) => ({ url, ready: false }))
    await using balancer = await startBalancer(targets)
    await waitFor('both gateways', () => targets.every(({ ready }) => ready))

    const problems: string[] = []
    let answered = 0
    let over = false
    const ask = async (stream: boolean): Promise<void> => {
      const body = JSON.stringify({ model: 'portico/echo', input: '/slow 10\n/length 5', stream })
      const headers = { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' }
      try {
        const answer = await fetch(`${balancer.url}/api/v1/responses`, { method: 'POST', headers, body })
        const text = await answer.text()
        if (answer.status !== 200 || !text.includes('completed')) problems.push(`${answer.status} ${text}`)
      } catch (error) {
        problems.push(String(error))
      }
      answered += 1
    }
    const load = [true, true, false, false].map(async (stream) => {
      while (!over) {
        await ask(stream)
        await sleep(10)
      }
    })
    for (const [i, target] of targets.entries()) {
      const port = new URL(target.url).port
      assert.equal(await gateways[i]?.stop(), 0)
      await start('gateway/main.ts', { PORTICO_PORT: port, ...urls })
      await waitFor('the gateway to be back', () => target.ready)
      const before = answered
      await waitFor('some more answers', () => answered > before + 10)
    }
    over = true
    await Promise.all(load)
    assert.deepEqual(problems, [])
  } finally {
    await Promise.all(running.map((process) => process.kill()))
    await dropDatabase(database)
  }
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { createClient } from '#shared/rpc/client.ts'
import { startProxy } from '#test/support/tcp-proxy.ts'
import { testSecret } from '#test/support/transports.ts'
import { event, gate, numberOf, probe } from './probe.ts'
import { serveRoutes } from './server.ts'

const isUnavailable = (error: unknown) => error instanceof ConnectError && error.code === Code.Unavailable

/** Waits until a call is given up: the calls of these tests have no other limit within the hour. */
const givenUp = (call: Promise<unknown>): Promise<void> => assert.rejects(call, isUnavailable)

const noHurry = { timeoutMs: 3_600_000 }

// At once, because each waits for seconds.
describe('a peer whose packets vanish', { concurrency: true }, () => {
  for (const direction of ['to the peer', 'from the peer'] as const) {
    test(`gives an open connection up whose packets vanish ${direction}, with its calls and streams`, async () => {
      const [entered, ended] = [gate(), gate()]
      await using server = await serveRoutes(
        probe({
          promptSession: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
          getSession: () => ({}),
          async *streamEvents(_, { signal }) {
            signal.addEventListener('abort', () => ended.resolve())
            yield event(1)
            entered.resolve()
            await ended.promise
          },
        }),
      )
      await using proxy = await startProxy(server.url)
      await using transport = createHttp2Transport({ url: proxy.url, secret: testSecret })
      const client = createClient(SessionService, transport)
      const stream = client.streamEvents({}, noHurry)[Symbol.asyncIterator]()
      assert.equal(numberOf((await stream.next()).value), 1)
      const call = client.promptSession({}, noHurry)
      const next = stream.next()
      await entered.promise
      proxy.swallow(direction)
      await Promise.all([givenUp(call), givenUp(next)])
      // To the peer, its caller has vanished as well.
      await ended.promise
      proxy.mend()
      await client.getSession({}, noHurry)
      assert.equal(proxy.connections, 2)
    })
  }

  test('gives an idle connection up whose packets vanished, before or soon after it is used', async () => {
    await using server = await serveRoutes(probe({ getSession: () => ({}) }))
    await using proxy = await startProxy(server.url)
    await using transport = createHttp2Transport({ url: proxy.url, secret: testSecret })
    const client = createClient(SessionService, transport)
    await client.getSession({}, noHurry)
    proxy.swallow('to the peer', 'from the peer')
    await givenUp(client.getSession({}, noHurry))
  })

  test('gives a peer up that accepts connections and says nothing', async () => {
    await using server = await serveRoutes(probe({}))
    await using proxy = await startProxy(server.url)
    proxy.swallow('to the peer', 'from the peer')
    await using transport = createHttp2Transport({ url: proxy.url, secret: testSecret })
    const client = createClient(SessionService, transport)
    await Promise.all([
      givenUp(client.replyPermissionRequest({}, noHurry)),
      givenUp(client.getSession({}, noHurry)),
      givenUp(client.streamEvents({}, noHurry)[Symbol.asyncIterator]().next()),
    ])
  })

  test('gives a machine up that neither accepts nor refuses connections', async () => {
    // Once its short queue is full, a sleeping listener lets packets drop.
    const code = `require('net').createServer().listen({port: 0, host: '127.0.0.1', backlog: 1}, function () {
      console.log(this.address().port) })`
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    const port = Number(await once(child.stdout, 'data'))
    child.kill('SIGSTOP')
    const fillers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    try {
      await using transport = createHttp2Transport({ url: `http://127.0.0.1:${port}`, secret: testSecret })
      await givenUp(createClient(SessionService, transport).getSession({}, noHurry))
    } finally {
      for (const filler of fillers) filler.destroy()
      child.kill('SIGKILL')
    }
  })

  test('ends a call that waits for a connection at its deadline, and when its caller aborts it', async () => {
    await using server = await serveRoutes(probe({}))
    await using proxy = await startProxy(server.url)
    proxy.swallow('to the peer')
    const patience = { connectMs: 3_600_000, pingMs: 3_600_000, missedPings: 1 }
    await using transport = createHttp2Transport({ url: proxy.url, secret: testSecret, patience })
    const client = createClient(SessionService, transport)
    const hasCode = (code: Code) => (error: unknown) => error instanceof ConnectError && error.code === code
    await assert.rejects(client.getSession({}, { timeoutMs: 50 }), hasCode(Code.DeadlineExceeded))
    const gone = new AbortController()
    const call = client.getSession({}, { ...noHurry, signal: gone.signal })
    setImmediate(() => gone.abort())
    await assert.rejects(call, hasCode(Code.Canceled))
  })
})

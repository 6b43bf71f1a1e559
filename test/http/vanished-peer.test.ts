import assert from 'node:assert/strict'
import test from 'node:test'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { probe } from '#test/rpc/probe.ts'
import { serveRoutes } from '#test/rpc/server.ts'
import { openFacade, withSession } from '#test/support/facade.ts'
import { stubSession } from '#test/support/stub-session.ts'
import { startProxy } from '#test/support/tcp-proxy.ts'
import { testSecret } from '#test/support/transports.ts'

test('when the packets of a service vanish every request is 503 with Retry-After before its deadline, and goes on after', async () => {
  const entered = Promise.withResolvers<void>()
  await using server = await serveRoutes(
    probe({
      getSession: ({ sessionId }) => ({ session: stubSession({ sessionId }) }),
      promptSession: (_, { signal }) => {
        entered.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', reject))
      },
    }),
  )
  await using proxy = await startProxy(server.url)
  await using session = createHttp2Transport({ url: proxy.url, secret: testSecret })
  await using facade = await openFacade({}, {}, withSession(session))
  const get = () => facade.fetch('/api/session/ses_1')
  const prompt = () =>
    facade.fetch('/api/session/ses_1/prompt', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"Hello"}',
    })
  assert.equal((await get()).status, 200)
  const underWay = prompt()
  await entered.promise
  proxy.swallow('to the peer', 'from the peer')
  const started = performance.now()
  const refused = async (request: Promise<Response>): Promise<void> => {
    const { status, headers } = await request
    const took = Math.round(performance.now() - started)
    assert.equal(status, 503)
    assert.match(headers.get('retry-after') ?? '', /^\d+$/)
    // The deadline of the calls, after 30 s, would end them as well.
    assert.ok(took < 25_000, `answered after ${took} ms`)
  }
  await Promise.all([refused(underWay), refused(get()), refused(prompt())])
  proxy.mend()
  assert.equal((await get()).status, 200)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openFacade } from '#test/support/facade.ts'

test('a client that hangs up aborts the call it waits for, and the log says that it was cut off', async () => {
  const entered = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  await using facade = await openFacade({
    session: {
      getSession: (_, context) => {
        context.signal.addEventListener('abort', () => aborted.resolve())
        entered.resolve()
        return new Promise(() => {})
      },
    },
  })
  const outgoing = request(`${facade.url}/api/session/ses_1`).on('error', () => {})
  outgoing.end()
  await entered.promise
  outgoing.destroy()
  await aborted.promise
  const line = facade.log.find(({ msg }) => msg === 'request')
  assert.deepEqual([line?.status, line?.cut], [499, true])
  assert.equal(
    facade.log.some(({ level }) => Number(level) >= 50),
    false,
  )
})

test('a client that hangs up in the middle of its body is not logged as an error, and calls no service', async () => {
  let called = false
  await using facade = await openFacade({
    session: {
      createSession: () => {
        called = true
        return {}
      },
    },
  })
  const headers = { 'content-type': 'application/json', 'content-length': '100', expect: '100-continue' }
  const outgoing = request(`${facade.url}/api/session`, { method: 'POST', headers }).on('error', () => {})
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  outgoing.write('{"title":')
  outgoing.destroy()
  await facade.listener.drain(3_600_000)
  await facade[Symbol.asyncDispose]()
  assert.equal(called, false)
  assert.equal(
    facade.log.some(({ level }) => Number(level) >= 50),
    false,
  )
})

test('a call that takes longer than its deadline is 503', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const entered = Promise.withResolvers<void>()
  const facade = await openFacade({
    session: {
      getSession: () => {
        entered.resolve()
        return new Promise(() => {})
      },
    },
  })
  const answer = facade.fetch('/api/session/ses_1')
  await entered.promise
  // In this process deadlines are watched from the next turn of the event loop.
  await setImmediate()
  context.mock.timers.tick(30_000)
  const { status } = await answer
  assert.equal(status, 503)
  context.mock.timers.reset()
  await facade[Symbol.asyncDispose]()
})

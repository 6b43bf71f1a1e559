import assert from 'node:assert/strict'
import { request } from 'node:http'
import test from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { closingReasons } from '#shared/rpc/server-reasons.ts'
import { connected, gone, openStream, readUntil, selected } from '#test/support/event-stream.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { untilStill } from '#test/support/until-still.ts'
import { waitFor } from '#test/support/wait-until.ts'

forEachTransport((name, connect) => {
  test(`${name}: a quiet stream has heartbeats`, async () => {
    const stubs: Stubs = {
      session: {
        async *streamEvents(_, context) {
          yield connected
          await gone(context)
        },
      },
    }
    await using facade = await openFacade(stubs, { PORTICO_HEARTBEAT_MS: '10' }, connect)
    const stream = await openStream(`${facade.url}/api/event`)
    await readUntil(stream, (text) => text.split(': heartbeat\n\n').length > 3)
    stream.destroy()
  })

  test(`${name}: a client that hangs up ends the RPC, and nothing is left open`, async () => {
    const ended = Promise.withResolvers<void>()
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            context.signal.addEventListener('abort', () => ended.resolve())
            yield connected
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const stream = await openStream(`${facade.url}/api/event`)
    await readUntil(stream, (text) => text.includes('server.connected'))
    assert.equal(facade.listener.lifecycle.openStreams, 1)
    stream.destroy()
    await ended.promise
    await waitFor('the end of the stream', () => facade.listener.lifecycle.openStreams === 0)
  })

  test(`${name}: a client that hangs up before the first message ends the RPC too`, async () => {
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            context.signal.addEventListener('abort', () => ended.resolve())
            started.resolve()
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const outgoing = request(`${facade.url}/api/event`).on('error', () => {})
    outgoing.end()
    await started.promise
    outgoing.destroy()
    await ended.promise
  })

  test(`${name}: a client that does not read holds the RPC back`, async () => {
    let pulled = 0
    const big = 'x'.repeat(10_000)
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            yield connected
            while (!context.signal.aborted && pulled < 100_000) yield selected(++pulled, big)
          },
        },
      },
      {},
      connect,
    )
    const stream = await openStream(`${facade.url}/api/event`)
    await untilStill('the events', () => pulled)
    // What was read is in the socket's buffers: megabytes at most, of the gigabyte on offer.
    assert.ok(pulled < 10_000, `${pulled} events were pulled`)
    stream.destroy()
  })

  test(`${name}: a server that stops ends its streams at once, and says when clients shall come back`, async () => {
    const ended = Promise.withResolvers<void>()
    const facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            context.signal.addEventListener('abort', () => ended.resolve())
            yield connected
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const stream = await openStream(`${facade.url}/api/event`)
    await readUntil(stream, (text) => text.includes('server.connected'))
    const rest = readUntil(stream, () => false)
    await facade.listener.drain(3_600_000)
    await facade[Symbol.asyncDispose]()
    await ended.promise
    assert.equal(await rest, ': the server is stopping\nretry: 1000\n\n')
    assert.equal(facade.listener.lifecycle.openStreams, 0)
  })

  test(`${name}: a session service that stops ends the stream, which says so and when to come back`, async () => {
    const stubs: Stubs = {
      reasons: closingReasons,
      session: {
        async *streamEvents() {
          yield connected
          throw new Rejection('SERVICE_CLOSING')
        },
      },
    }
    await using facade = await openFacade(stubs, {}, connect)
    const text = await readUntil(await openStream(`${facade.url}/api/event`), () => false)
    const last = text.trimEnd().split('\n\n').at(-1) ?? ''
    assert.match(last, /^retry: 1000\ndata: \{.*"type":"server.error".*"ServiceUnavailableError"/)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallOptions } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type { StreamEventsResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { wordEvent } from '#test/support/session-event.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { connectHttp2, forEachTransport } from '#test/support/transports.ts'

/** What a stream says, in a word each. */
async function open(service: SessionRpc, position?: string, options: CallOptions = service.as()) {
  const stream = service.client.streamEvents({ position }, options)[Symbol.asyncIterator]()
  const next = async (): Promise<StreamEventsResponse['message']> => {
    const { value, done } = await stream.next()
    if (done === true) return { case: undefined }
    return value.message.case === 'caughtUp' ? next() : value.message
  }
  const word = async (): Promise<string | undefined> => {
    const message = await next()
    if (message.case !== 'event') return message.case
    const { event, sessionId } = message.value
    return event.case === 'partExtended' ? `+${event.value.delta}` : `${event.case} ${sessionId}`
  }
  return { next, word, leave: () => stream.return?.() }
}

forEachTransport((name, connect) => {
  test(`the stream reports that it is open, then what happens, numbered and with its position (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId: 'ses_before' }, service.as())
    const stream = await open(service)
    assert.equal(await stream.word(), 'connected')
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    const message = await stream.next()
    assert.ok(message.case === 'event')
    const { event, ...rest } = message.value
    assert.equal(event.case, 'sessionCreated')
    assert.equal(event.case === 'sessionCreated' && event.value.session?.sessionId, 'ses_1')
    assert.match(rest.eventId, /^evt_/)
    assert.deepEqual([rest.sessionId, rest.directory, rest.seq], ['ses_1', '/project', 1])
    assert.ok(rest.position)
    await stream.leave()
  })

  test(`a reader that comes back with its position misses nothing (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const first = await open(service)
    await first.next()
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    const seen = await first.next()
    await first.leave()
    await service.client.createSession({ sessionId: 'ses_2' }, service.as())
    const again = await open(service, seen.case === 'event' ? seen.value.position : undefined)
    assert.deepEqual([await again.word(), await again.word()], ['connected', 'sessionCreated ses_2'])
    await again.leave()
  })

  test(`a reader that saw nothing comes back with the position of its start (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const first = await open(service)
    const connected = await first.next()
    await first.leave()
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    const again = await open(service, connected.case === 'connected' ? connected.value.position : undefined)
    assert.deepEqual([await again.word(), await again.word()], ['connected', 'sessionCreated ses_1'])
    await again.leave()
  })

  test(`an unknown position is reported to have missed events, and live ones follow (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const stream = await open(service, 'of another time')
    assert.deepEqual([await stream.word(), await stream.word()], ['connected', 'missed'])
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    assert.equal(await stream.word(), 'sessionCreated ses_1')
    await stream.leave()
  })

  test(`events of another workspace are not sent (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const stream = await open(service)
    await stream.next()
    await service.client.createSession({ sessionId: 'ses_2' }, service.as('wrk_2'))
    service.hub.publish([{ ...wordEvent(1, 'x', 'ses_2'), workspace: 'wrk_2' }], service.hub.mark())
    await service.client.createSession({ sessionId: 'ses_1' }, service.as())
    assert.equal(await stream.word(), 'sessionCreated ses_1')
    await stream.leave()
  })

  test(`only events of the wanted session, or of the wanted directory, are sent (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const of = async (wanted: { readonly sessionId?: string; readonly directory?: string }) => {
      const stream = service.client.streamEvents(wanted, service.as())[Symbol.asyncIterator]()
      assert.equal((await stream.next()).value?.message.case, 'connected')
      return async () => {
        const { value } = await stream.next()
        return value?.message.case === 'event' ? value.message.value.sessionId : value?.message.case
      }
    }
    const streams = [await of({ sessionId: 'ses_1' }), await of({ directory: '/there' })]
    await service.client.createSession({ sessionId: 'ses_0', directory: '/else' }, service.as())
    await service.client.createSession({ sessionId: 'ses_2', directory: '/there' }, service.as())
    await service.client.createSession({ sessionId: 'ses_1', directory: '/there' }, service.as())
    assert.deepEqual(await Promise.all(streams.map((next) => next())), ['ses_1', 'ses_2'])
    await service.store.selectAgent('wrk_1', 'ses_2', 'plan')
    await service.store.selectAgent('wrk_1', 'ses_1', 'plan')
    assert.equal(await streams[0]?.(), 'ses_1')
    assert.deepEqual([await streams[1]?.(), await streams[1]?.()], ['ses_1', 'ses_2'])
  })

  test(`a reader that falls behind by more than 4,096 volatile events that cannot be joined is refused (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const stream = await open(service)
    await stream.next()
    const many = Array.from({ length: 4_097 }, (_, i) => wordEvent(7 + i, String(i)))
    service.hub.publish(many, service.hub.mark())
    await assert.rejects(
      async () => {
        for (;;) if ((await stream.word()) === undefined) return
      },
      (error) => reasonOf(error)?.reason === 'EVENTS_OVERFLOWED',
    )
  })

  test(`a reader that hangs up leaves nothing open (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const gone = new AbortController()
    const stream = await open(service, undefined, { ...service.as(), signal: gone.signal })
    await stream.next()
    assert.ok(service.hub.hasListener('wrk_1'))
    const waiting = stream.next()
    gone.abort()
    await assert.rejects(waiting, (error) => error instanceof ConnectError && error.code === Code.Canceled)
    while (service.hub.hasListener('wrk_1')) await new Promise((resolve) => setImmediate(resolve))
  })
})

test('a server that stops ends each subscription, with the reason', async () => {
  const service = await openSessionRpc(connectHttp2)
  const busy = service.client.streamEvents({}, service.as())[Symbol.asyncIterator]()
  const quiet = service.client.streamEvents({}, service.as('wrk_2'))[Symbol.asyncIterator]()
  for (const stream of [busy, quiet]) assert.equal((await stream.next()).value?.message.case, 'connected')
  await service.client.createSession({ sessionId: 'ses_1' }, service.as())
  const drained = service.server?.drain(3_600_000)
  const isClosing = (error: unknown) => reasonOf(error)?.reason === 'SERVICE_CLOSING'
  await assert.rejects(async () => {
    while ((await busy.next()).done !== true);
  }, isClosing)
  await assert.rejects(quiet.next(), isClosing)
  await drained
  assert.equal(service.hub.hasListener('wrk_1'), false)
  await service[Symbol.asyncDispose]()
})

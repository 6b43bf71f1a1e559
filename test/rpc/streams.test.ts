import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { event, gate, numberOf, probe } from './probe.ts'

/** Reads a stream to its end; returns the numbers read, and the error that ended it. */
async function read(stream: AsyncIterable<Parameters<typeof numberOf>[0]>) {
  const numbers: number[] = []
  try {
    for await (const message of stream) numbers.push(numberOf(message))
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error))
    return { numbers, error }
  }
  return { numbers, error: undefined }
}

/** A handler that sends for ever, and reports when it was aborted and when it has ended. */
function endless(pause: () => Promise<void>) {
  const aborted = gate()
  const ended = gate()
  const state = { sent: 0 }
  const routes = probe({
    async *streamEvents(_, { signal }) {
      signal.addEventListener('abort', () => aborted.resolve())
      try {
        for (;;) {
          state.sent += 1
          yield event(state.sent)
          await pause()
        }
      } finally {
        ended.resolve()
      }
    },
  })
  return { routes, state, aborted: aborted.promise, ended: ended.promise }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

forEachTransport((name, connect) => {
  test(`${name}: a stream brings its messages in order and ends`, async () => {
    await using connection = await connect(
      probe({
        async *streamEvents({ position }) {
          for (let sent = 0; sent < Number(position); sent++) yield event(sent)
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    assert.deepEqual(await read(client.streamEvents({ position: '0' })), { numbers: [], error: undefined })
    const { numbers } = await read(client.streamEvents({ position: '1000' }))
    assert.deepEqual(
      numbers,
      Array.from({ length: 1_000 }, (_, index) => index),
    )
  })

  for (const before of [0, 2]) {
    test(`${name}: a rejection after ${before} messages arrives whole, after them`, async () => {
      await using connection = await connect(
        probe({
          async *streamEvents() {
            for (let sent = 0; sent < before; sent++) yield event(sent)
            throw new Rejection('SESSION_NOT_FOUND', { sessionId: 'ses_1' })
          },
        }),
      )
      const { numbers, error } = await read(createClient(SessionService, connection.transport).streamEvents({}))
      assert.equal(numbers.length, before)
      assert.equal(error?.code, Code.NotFound)
      assert.deepEqual(reasonOf(error), {
        domain: 'session',
        reason: 'SESSION_NOT_FOUND',
        metadata: { sessionId: 'ses_1' },
        message: 'Session ses_1 not found',
      })
    })

    test(`${name}: an unplanned error after ${before} messages is INTERNAL and reveals nothing`, async () => {
      await using connection = await connect(
        probe({
          async *streamEvents() {
            for (let sent = 0; sent < before; sent++) yield event(sent)
            throw new TypeError('password hunter2')
          },
        }),
      )
      const { numbers, error } = await read(createClient(SessionService, connection.transport).streamEvents({}))
      assert.equal(numbers.length, before)
      assert.deepEqual([error?.code, error?.rawMessage, error?.details], [Code.Internal, 'Internal error', []])
    })
  }

  test(`${name}: leaving a stream aborts its handler and closes its generator`, async () => {
    const { routes, aborted, ended } = endless(turn)
    await using connection = await connect(routes)
    for await (const message of createClient(SessionService, connection.transport).streamEvents({})) {
      if (numberOf(message) === 3) break
    }
    await aborted
    await ended
  })

  test(`${name}: aborting between two messages aborts the handler, though nobody reads on`, async () => {
    const { routes, aborted, ended } = endless(turn)
    await using connection = await connect(routes)
    const controller = new AbortController()
    const stream = createClient(SessionService, connection.transport).streamEvents({}, { signal: controller.signal })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    controller.abort()
    await aborted
    await ended
    await assert.rejects(iterator.next(), (error) => error instanceof ConnectError && error.code === Code.Canceled)
  })

  test(`${name}: aborting while a message is awaited fails at once`, async () => {
    const never = gate()
    const { routes, aborted } = endless(() => never.promise)
    await using connection = await connect(routes)
    const controller = new AbortController()
    const stream = createClient(SessionService, connection.transport).streamEvents({}, { signal: controller.signal })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    await turn()
    controller.abort()
    await assert.rejects(next, (error) => error instanceof ConnectError && error.code === Code.Canceled)
    await aborted
    never.resolve()
  })

  test(`${name}: a deadline ends a stream and aborts its handler`, async () => {
    const { routes, state, aborted, ended } = endless(turn)
    await using connection = await connect(routes)
    const client = createClient(SessionService, connection.transport)
    // On a busy machine a deadline may be over before the handler has begun.
    for (let timeoutMs = 50; state.sent === 0; timeoutMs *= 2) {
      const { error } = await read(client.streamEvents({}, callOptions({}, { timeoutMs })))
      assert.equal(error?.code, Code.DeadlineExceeded)
    }
    await aborted
    await ended
  })

  test(`${name}: a stream that was aborted before it began never reaches the handler`, async () => {
    const { routes, state } = endless(turn)
    await using connection = await connect(routes)
    const signal = AbortSignal.abort()
    const { error } = await read(createClient(SessionService, connection.transport).streamEvents({}, { signal }))
    assert.equal(error?.code, Code.Canceled)
    await turn()
    assert.equal(state.sent, 0)
  })

  test(`${name}: a reader that stops reading stops the handler, and other calls go on`, async () => {
    const text = 'x'.repeat(10_000)
    let sent = 0
    await using connection = await connect(
      probe({
        async *streamEvents() {
          for (;;) {
            sent += 1
            yield { message: { case: 'event' as const, value: { position: text } } }
          }
        },
        getSession: () => ({ session: { title: text } }),
      }),
    )
    const client = createClient(SessionService, connection.transport)
    const iterator = client.streamEvents({})[Symbol.asyncIterator]()
    await iterator.next()
    let before = -1
    while (before !== sent) {
      before = sent
      // Calls on the same connection: each would leave the handler time to run ahead, if it could.
      for (let calls = 0; calls < 50; calls++) await client.getSession({})
    }
    // 1 MB: the windows and buffers between the two ends.
    assert.ok(sent <= 100, `${sent} messages were asked for`)
    await iterator.return?.()
  })
})

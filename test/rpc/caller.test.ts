import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type Caller, callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { event, gate, probe } from './probe.ts'

/** A caller that leaves when the test says so, and knows its listeners. */
class TestCaller implements Caller {
  readonly #controller = new AbortController()
  readonly listening = new Set<() => void>()
  signals = 0

  get isGone(): boolean {
    return this.#controller.signal.aborted
  }

  get signal(): AbortSignal {
    this.signals += 1
    return this.#controller.signal
  }

  onGone(listener: () => void): void {
    this.listening.add(listener)
  }

  offGone(listener: () => void): void {
    this.listening.delete(listener)
  }

  leave(): void {
    this.#controller.abort()
    for (const listener of this.listening) listener()
  }
}

const canceled = (error: unknown) => error instanceof ConnectError && error.code === Code.Canceled

forEachTransport((name, connect) => {
  test(`${name}: a call and the calls of its handler end when the caller hangs up, and leave no listener on its signal`, async () => {
    const [begun, ended] = [gate(), gate()]
    await using inner = await connect(
      probe({
        async getSession(_, { signal }) {
          signal.addEventListener('abort', () => ended.resolve())
          begun.resolve()
          await new Promise(() => {})
          return {}
        },
      }),
    )
    const peer = createClient(SessionService, inner.transport)
    await using outer = await connect(
      probe({
        async getSession(request, context) {
          const ending = 'onGone' in context ? { caller: context as unknown as Caller } : { signal: context.signal }
          return await peer.getSession(request, callOptions({}, ending))
        },
      }),
    )
    const caller = new TestCaller()
    const call = createClient(SessionService, outer.transport).getSession({}, callOptions({}, { caller }))
    await begun.promise
    caller.leave()
    await assert.rejects(call, canceled)
    await ended.promise
    assert.equal(caller.listening.size, 0)
  })

  test(`${name}: a caller that hung up before its call is not served`, async () => {
    let calls = 0
    await using connection = await connect(
      probe({
        async getSession() {
          calls += 1
          return {}
        },
      }),
    )
    const caller = new TestCaller()
    caller.leave()
    const client = createClient(SessionService, connection.transport)
    await assert.rejects(client.getSession({}, callOptions({}, { caller })), canceled)
    assert.equal(calls, 0)
  })

  test(`${name}: a stream ends when its caller hangs up`, async () => {
    const ended = gate()
    await using connection = await connect(
      probe({
        async *streamEvents(_, { signal }) {
          signal.addEventListener('abort', () => ended.resolve())
          yield event(1)
          await new Promise(() => {})
        },
      }),
    )
    const caller = new TestCaller()
    const client = createClient(SessionService, connection.transport)
    const reading = (async () => {
      for await (const _ of client.streamEvents({}, callOptions({}, { caller }))) caller.leave()
    })()
    await assert.rejects(reading, canceled)
    await ended.promise
  })

  test(`${name}: a call leaves no listener on the signal of its caller, and needs no signal of its own within one process`, async () => {
    await using connection = await connect(
      probe({
        async getSession() {
          await setImmediate()
          await setImmediate()
          return {}
        },
      }),
    )
    const caller = new TestCaller()
    const client = createClient(SessionService, connection.transport)
    const call = client.getSession({}, callOptions({}, { caller }))
    await setImmediate()
    await call
    assert.equal(caller.listening.size, 0)
    if (name === 'local') assert.equal(caller.signals, 0)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { type RunToolResponse, ToolProgressedSchema } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { locationAt } from '#test/support/location.ts'
import { completed } from '../domain/tool-outcome.ts'
import type { PreparedCall, Tools } from '../ports/tools.ts'
import { type CallRequest, runCall } from './run-call.ts'
import { ToolCalls } from './tool-calls.ts'

const LOCATION = locationAt('/project')
const REQUEST: CallRequest = {
  ...{ name: 'print', input: {}, grant: [] },
  identity: { sessionId: 's', callId: 'c' },
  after: async (outcome) => outcome,
}
const COMPLETED = completed([])

type Run = PreparedCall['run']

/** Tools of which each call is this one; `prepared` is awaited before preparing returns. */
function toolsOf(run: Run, prepared: Promise<void> = Promise.resolve()): Tools {
  return {
    list: () => [],
    prepare: async () => {
      await prepared
      return { accesses: [], savePatterns: [], external: false, run }
    },
  }
}

/** Ways to keep printing after the end was requested, each over many turns of the event loop. */
const PRINTERS: Readonly<Record<string, Run>> = {
  'from a timer': async (signal, progress) => {
    for (let count = 0, left = 20; left > 0; count++) {
      progress({ count })
      await delay(1)
      if (signal.aborted) left--
    }
    throw signal.reason
  },
  'many times at once': async (signal, progress) => {
    for (let count = 0, left = 20; left > 0; ) {
      for (let i = 0; i < 100; i++) progress({ count: count++ })
      await delay(1)
      if (signal.aborted) left--
    }
    throw signal.reason
  },
  'once, at the moment of the end': async (signal, progress) => {
    progress({ count: 0 })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(progress({ count: 1 }))))
    await delay(20)
    throw signal.reason
  },
  'and completes all the same': async (signal, progress) => {
    for (let count = 0, left = 20; left > 0; count++) {
      progress({ count })
      await delay(1)
      if (signal.aborted) left--
    }
    return COMPLETED
  },
}

/** The ways in which a call ends early. */
const ENDS: Readonly<Record<string, (calls: ToolCalls, caller: AbortController) => unknown>> = {
  'its caller is gone': (_, caller) => caller.abort(),
  'a newer owner ends it': (calls) => calls.endOlder('w', 's', 2n),
  'the service closes': (calls) => calls[Symbol.asyncDispose](),
}

for (const [printing, run] of Object.entries(PRINTERS)) {
  for (const [why, end] of Object.entries(ENDS)) {
    test(`a call of a tool that prints ${printing} ends, without further progress, because ${why}`, async () => {
      const calls = new ToolCalls()
      const caller = new AbortController()
      const events = runCall(toolsOf(run), LOCATION, await calls.begin('w', 's', 'c', 1n), REQUEST, caller.signal)
      assert.equal((await events.next()).value?.case, 'progressed')
      const rest = Array.fromAsync(events)
      void end(calls, caller)
      const seen = await rest.catch(() => [])
      assert.deepEqual(
        seen.filter((event) => event.case === 'progressed'),
        [],
        'nothing is passed on after the end was asked for',
      )
      await calls[Symbol.asyncDispose]()
    })
  }
}

test('a reader who leaves ends a tool that prints', async () => {
  const calls = new ToolCalls()
  const run = PRINTERS['from a timer'] as Run
  const call = await calls.begin('w', 's', 'c', 1n)
  for await (const _ of runCall(toolsOf(run), LOCATION, call, REQUEST, new AbortController().signal)) break
  await calls[Symbol.asyncDispose]()
})

test('only the newest progress is kept for a slow reader, and the outcome comes last', async () => {
  const calls = new ToolCalls()
  const goOn = Promise.withResolvers<void>()
  const run: Run = async (_, progress) => {
    progress({ count: 1 })
    await goOn.promise
    for (const count of [2, 3, 4]) progress({ count })
    await delay(1)
    return COMPLETED
  }
  const call = await calls.begin('w', 's', 'c', 1n)
  const events = runCall(toolsOf(run), LOCATION, call, REQUEST, new AbortController().signal)
  const received: RunToolResponse['event'][] = []
  for await (const event of events) {
    received.push(event)
    goOn.resolve()
  }
  const progress = (metadata: JsonObject) => ({ case: 'progressed', value: create(ToolProgressedSchema, { metadata }) })
  assert.deepEqual(received, [progress({ count: 1 }), progress({ count: 4 }), COMPLETED])
})

for (const [why, end] of Object.entries(ENDS)) {
  test(`a call is not begun when ${why} during its preparation, and its id stays free`, async () => {
    const calls = new ToolCalls()
    const caller = new AbortController()
    const prepared = Promise.withResolvers<void>()
    let begun = false
    const run: Run = async () => {
      begun = true
      return COMPLETED
    }
    const call = await calls.begin('w', 's', 'c', 1n)
    const rest = Array.fromAsync(runCall(toolsOf(run, prepared.promise), LOCATION, call, REQUEST, caller.signal))
    const ended = end(calls, caller)
    prepared.resolve()
    await assert.rejects(rest)
    await ended
    assert.equal(begun, false)
    if (caller.signal.aborted) (await calls.begin('w', 's', 'c', 1n)).settle(true)
  })
}

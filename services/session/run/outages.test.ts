import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { AgentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { type Clock, systemClock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { admission, MODEL, newSession, W } from '#test/contract/session-store.support.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { openSqliteSessionStore } from '../adapters/sqlite/open-session-store.ts'
import { isSettled } from '../domain/message.ts'
import type { AcquiredLease } from '../ports/lease.ts'
import { drainSession } from './drain.ts'
import { patientPort } from './patient-port.ts'
import { pause } from './pause.ts'
import type { RunDependencies } from './run-context.ts'
import { SessionWatchers } from './session-watchers.ts'
import { Slots } from './slots.ts'
import { Tenure } from './tenure.ts'

const LEASE_MS = 3_000
const never = new AbortController().signal
const AWAY = storeUnavailable('away')
const soon: RunDependencies['pause'] = (_, signal) => pause(5, signal)

/**
 * A store with one prompt that is due, which can be made to fail; and what runs need that are stopped before they ask
 * for more.
 */
async function open(clock: Clock = systemClock) {
  const directory = mkdtempSync(join(tmpdir(), 'portico-outages-'))
  const port = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock })
  const opened = withUseCases(port)
  await opened.createSession(W, newSession('ses_1', { title: 'Test' }))
  await opened.admit(W, admission('msg_1'))
  const state = {
    failure: undefined as Error | undefined,
    only: undefined as string | undefined,
    /** It fails once. */
    once: false,
    /** The model is called, and says nothing. */
    answers: false,
  }
  const store = new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      return async (...words: unknown[]) => {
        // What is given back is no write under the lease.
        const only = state.only === 'revise' && !('fence' in (words[0] as object)) ? '' : state.only
        const { failure } = state
        if (failure !== undefined && (only ?? key) === key) {
          if (state.once) state.failure = undefined
          throw failure
        }
        return Reflect.apply(member, target, words)
      }
    },
  })
  const watchers = new SessionWatchers(opened)
  const begun: string[] = []
  const waits = (_: unknown, signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const closing = new AbortController()
  /** For how long the event loop is said to have been active. */
  const used = { ms: 0 }
  const given = {
    ...{ store, blobs: {}, watchers, clock, logger: silentLogger, pause: soon, closing: closing.signal },
    ...{
      autoResume: true,
      fences: new Map(),
      subagents: { depth: 0 },
      hub: { mark: () => 0, hasListener: () => false },
    },
    newId: (prefix: Parameters<RunDependencies['newId']>[0]) => timedId(prefix, clock),
    health: { state: () => ({ ok: state.failure === undefined || state.only !== undefined }) },
    catalog: {
      endTools: async () => {},
      getAgent: async (call: { readonly signal: AbortSignal }) => {
        if (state.answers)
          return { agent: create(AgentSchema, { agentId: 'build' }), instructions: [], generation: 'gen_1' }
        begun.push('step')
        return waits(undefined, call.signal)
      },
      listTools: async () => [],
    },
    inference: {
      findModel: async () => ({ model: MODEL, contextLength: undefined }),
      async *generate({ signal }: { readonly signal: AbortSignal }) {
        begun.push('answer')
        yield await waits(undefined, signal)
      },
    },
  } as unknown as RunDependencies
  /** Owns the session from now on. */
  const own = async (since = clock.monotonic()) => {
    const lease = (await opened.acquireLease('own_1', LEASE_MS)) as AcquiredLease
    const tenure = new Tenure(lease, since, { ...given, leaseMs: LEASE_MS, activeMs: () => used.ms })
    const slot = await new Slots(1).take(never)
    const drained = drainSession(given, tenure, slot).finally(() => tenure[Symbol.dispose]())
    return { lease, tenure, slot, drained }
  }
  const dispose = async (): Promise<void> => {
    closing.abort(new Error('closing'))
    watchers[Symbol.dispose]()
    await opened[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  }
  return { opened, store, state, begun, given, own, used, [Symbol.asyncDispose]: dispose }
}

/** What the next owner finds; it leaves the lease as it was. */
async function nextAttempt({ opened }: Awaited<ReturnType<typeof open>>): Promise<number> {
  let lease: AcquiredLease | undefined
  await waitFor('the lease to be free', async () => {
    lease = await opened.acquireLease('own_2', 60_000)
    return lease !== undefined
  })
  if (lease !== undefined) await opened.releaseLease(lease)
  return lease?.acquisitions ?? 0
}

function lateClock() {
  let late = 0
  const clock = { now: () => systemClock.now() + late, monotonic: () => systemClock.monotonic() + late }
  const jump = (): void => {
    late += LEASE_MS
  }
  return { clock, jump }
}

// Each has a store of its own, and waits for leases to run out.
describe('a run that loses its store or its time', { concurrency: true }, () => {
  test('an outage longer than a lease does not count, however often it comes', async () => {
    await using fixture = await open()
    const { own, state, begun } = fixture
    for (let outages = 1; outages <= 7; outages++) {
      const { lease, tenure, drained } = await own()
      assert.equal(lease.acquisitions, 1)
      await waitFor('the step to begin', () => begun.length === outages)
      state.failure = AWAY
      await drained
      assert.equal(tenure.loss, 'outage')
      state.failure = undefined
      await waitFor('the lease to be given back', async () => (await nextAttempt(fixture)) === 1)
    }
  })

  test('an outage that ends when somebody else has taken over does not count against the first owner', async () => {
    await using fixture = await open()
    const { opened, own, state, begun } = fixture
    const { drained } = await own()
    await waitFor('the step to begin', () => begun.length === 1)
    state.failure = AWAY
    await drained
    let second: AcquiredLease | undefined
    await waitFor('another owner', async () => {
      second = await opened.acquireLease('own_2', 600)
      return second !== undefined
    })
    assert.equal(second?.acquisitions, 2)
    state.failure = undefined
    // The attempt of the second owner stays, that of the first one does not.
    await waitFor('the first lease to be given back', async () => (await nextAttempt(fixture)) === 2)
  })

  test('a process that its own work holds up for longer than its lease uses an attempt each time', async () => {
    const { clock, jump } = lateClock()
    await using fixture = await open(clock)
    const { own, begun, used } = fixture
    for (let stalls = 1; stalls <= 5; stalls++) {
      const { lease, tenure, drained } = await own()
      assert.equal(lease.acquisitions, stalls)
      await waitFor('the step to begin', () => begun.length === stalls)
      jump()
      used.ms += 2 * LEASE_MS
      await drained
      assert.equal(tenure.loss, 'stall')
    }
  })

  test('a process that is suspended for longer than its lease uses no attempt, however often', async () => {
    const { clock, jump } = lateClock()
    await using fixture = await open(clock)
    const { own, begun } = fixture
    for (let pauses = 1; pauses <= 7; pauses++) {
      const { lease, tenure, drained } = await own()
      assert.equal(lease.acquisitions, 1)
      await waitFor('the step to begin', () => begun.length === pauses)
      jump()
      await drained
      assert.equal(tenure.loss, 'pause')
      await waitFor('the lease to be given back', async () => (await nextAttempt(fixture)) === 1)
    }
  })

  test('a lease that was obtained too late to be valid uses no attempt', async () => {
    await using fixture = await open()
    const { lease, tenure, drained } = await fixture.own(systemClock.monotonic() - LEASE_MS)
    assert.equal(lease.acquisitions, 1)
    await drained
    assert.equal(tenure.loss, 'pause')
    await waitFor('the lease to be given back', async () => (await nextAttempt(fixture)) === 1)
  })

  test('an outage that meets a busy process does not count', async () => {
    await using fixture = await open()
    const { own, state, begun, used } = fixture
    const { tenure, drained } = await own()
    await waitFor('the step to begin', () => begun.length === 1)
    state.failure = AWAY
    used.ms += 2 * LEASE_MS
    await drained
    assert.equal(tenure.loss, 'outage')
  })

  test('an outage that meets a run which is being interrupted does not count', async () => {
    await using fixture = await open()
    const { own, opened, state, begun } = fixture
    const { tenure, drained } = await own()
    await waitFor('the step to begin', () => begun.length === 1)
    await opened.requestInterrupt(W, 'ses_1')
    state.failure = storeUnavailable('gone', { outcomeUnknown: true })
    await drained
    assert.deepEqual([tenure.reason, tenure.loss], ['interrupted', undefined])
    state.failure = undefined
    await waitFor('the lease to be given back', async () => (await nextAttempt(fixture)) === 1)
  })

  for (const [what, failure] of [
    ['has an unknown outcome', storeUnavailable('late', { outcomeUnknown: true })],
    ['fails for no reason that is known', new Error('nobody foresaw this')],
  ] as const) {
    test(`no step stays open when the write that ends it, as its run is interrupted, ${what}`, async () => {
      await using fixture = await open()
      const { opened, own, state, begun } = fixture
      state.answers = true
      const first = await own()
      await waitFor('the model to be called', () => begun.length === 1)
      Object.assign(state, { failure, only: 'revise', once: true })
      await opened.requestInterrupt(W, 'ses_1')
      await first.drained
      const outcome = async () => (await opened.getSession(W, 'ses_1'))?.outcome
      if ((await outcome()) === undefined) {
        await nextAttempt(fixture)
        await (await own()).drained
      }
      assert.equal(await outcome(), Outcome.INTERRUPTED)
      const page = await opened.listMessages(W, 'ses_1', { limit: 10, order: Order.ASCENDING })
      const ends = page?.items.map(({ message }) => [message.kind.case, isSettled(message)])
      assert.deepEqual(ends, [
        ['user', true],
        ['assistant', true],
        ['idle', true],
      ])
    })
  }

  test('a write that ends each time with an unknown outcome, while the store takes others, is an attempt each time', async () => {
    await using fixture = await open()
    const { own, state } = fixture
    state.failure = storeUnavailable('late', { outcomeUnknown: true })
    state.only = 'revise'
    for (let attempts = 1; attempts <= 5; attempts++) {
      const { lease, drained } = await own()
      assert.equal(lease.acquisitions, attempts)
      await drained
      await waitFor('the lease to be given back', async () => (await nextAttempt(fixture)) === attempts + 1)
    }
  })

  test('a renewal that fails for a reason of its own loses the lease, and that is an attempt', async () => {
    await using fixture = await open()
    fixture.state.failure = new Error('nobody foresaw this')
    fixture.state.only = 'renewLease'
    const { tenure, drained } = await fixture.own()
    await drained
    assert.equal(tenure.loss, 'failure')
    assert.equal(await nextAttempt(fixture), 2)
  })

  test('a call that always fails while the store is up is an attempt, and holds no slot meanwhile', async () => {
    for (const failure of [storeUnavailable('slow'), storeUnavailable('malformed', { damaged: true })]) {
      await using fixture = await open()
      fixture.state.failure = failure
      fixture.state.only = 'revise'
      const { slot, drained } = await fixture.own()
      await drained
      assert.equal(slot.busy, failure.metadata.store === 'damaged', 'it was given up while it was waited')
      assert.equal(await nextAttempt(fixture), 2)
    }
  })

  test('a call is repeated for as long as the store is known to be away, and no longer', async () => {
    let calls = 0
    let ok = false
    const port = {
      read: async () => {
        calls++
        throw AWAY
      },
    }
    const health = {
      state: () => (ok ? { ok } : { ok, kind: 'away' as const }),
      onChange: () => ({ [Symbol.dispose]() {} }),
    }
    const patient = patientPort(port, health, async () => {
      if (calls === 1_000) ok = true
    })
    await assert.rejects(patient.read(), { name: 'StoreFault', cause: AWAY })
    assert.ok(calls < 1_020, String(calls))
  })
})

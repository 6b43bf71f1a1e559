import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { ToolAccessSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PermissionReply, type PermissionRequest } from '#gen/portico/session/v1/session_pb.js'
import type { PermissionAnswer } from '#services/session/domain/permission/permission-requests.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { RunContext } from './run-context.ts'
import { SessionWatchers } from './session-watchers.ts'
import { StepPermissions } from './step-permissions.ts'
import type { StepPlan } from './step-plan.ts'

const HOUR_MS = 3_600_000
const CALLS = 500

/** A run over a store that counts its calls, and how many of them are under way. */
function open(permissionTimeoutMs = HOUR_MS) {
  const requests = new Map<string, { readonly request: PermissionRequest; answer: PermissionAnswer | undefined }>()
  const counts = { now: 0, most: 0, looks: 0 }
  const call = async <T>(done: () => T): Promise<T> => {
    counts.most = Math.max(counts.most, ++counts.now)
    await setImmediate()
    counts.now--
    return done()
  }
  const close = (id: string, reply: PermissionAnswer['reply']): boolean => {
    const known = requests.get(id)
    if (known === undefined || known.answer !== undefined) return false
    known.answer = { reply, message: '' }
    return true
  }
  let changed = (): void => {}
  const onChange = (listener: (change: object) => void): Disposable => {
    changed = () => listener({ workspace: 'wrk_1', sessionId: 'ses_1', kinds: ['permission'] })
    return { [Symbol.dispose]: () => {} }
  }
  let ids = 0
  const run = {
    owned: {
      requestPermission: (request: PermissionRequest) =>
        call(() => requests.set(request.requestId, { request, answer: undefined })),
      permissionAnswer: (id: string) => call(() => requests.get(id)?.answer),
      closePermission: (id: string, reply: PermissionAnswer['reply']) => call(() => close(id, reply)),
      waitingRequests: () =>
        call(() => {
          counts.looks++
          return new Set([...requests].flatMap(([id, { answer }]) => (answer === undefined ? [id] : [])))
        }),
    },
    store: { savedApprovals: async () => [] },
    watchers: new SessionWatchers({ onChange } as never, HOUR_MS),
    tenure: { lease: { workspace: 'wrk_1', sessionId: 'ses_1' } },
    session: { sessionId: 'ses_1', projectId: 'global' },
    slot: { rest: (wait: () => unknown) => wait() },
    clock: { now: () => 0 },
    newId: () => `per_${ids++}`,
    permissionTimeoutMs,
  } as unknown as RunContext
  const permissions = new StepPermissions(run, { rules: { agent: [], session: [] } } as unknown as StepPlan, 'msg_1')
  const accesses = [create(ToolAccessSchema, { action: 'look', resources: ['a'] })]
  const { signal } = new AbortController()
  const asked = Array.from({ length: CALLS }, (_, i) =>
    permissions.request(`call_${i}`, { accesses, savePatterns: [] }, signal),
  )
  return { requests, counts, asked, close, notify: () => changed() }
}

test('a few of a step’s many calls request permission at a time; all requests are listed, and answered', async () => {
  const { requests, counts, asked, close, notify } = open()
  await waitFor('all requests', () => requests.size === CALLS)
  assert.ok(counts.most <= 20, `${counts.most} calls of the store at once`)
  counts.looks = 0
  for (const id of requests.keys()) close(id, PermissionReply.ONCE)
  notify()
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([undefined]))
  assert.ok(counts.most <= 20, `${counts.most} calls of the store at once`)
  assert.ok(counts.looks <= 3, `${counts.looks} looks`)
})

test('a few of many expired requests are closed at a time', async () => {
  const { requests, counts, asked } = open(1)
  assert.deepEqual(new Set((await Promise.all(asked)).map((error) => error?.type)), new Set(['permission.timeout']))
  assert.equal(requests.size, CALLS)
  assert.ok(counts.most <= 20, `${counts.most} calls of the store at once`)
})

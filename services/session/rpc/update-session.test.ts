import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { createContextValues } from '@connectrpc/connect'
import { PermissionRule_Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { UpdateSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { admitter, newSession as input } from '#test/contract/session-store.support.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { newSession } from '../domain/new-session.ts'
import { Revision } from '../domain/revision.ts'
import { sessionHandlers } from './sessions.ts'

const sessionId = 'ses_a'
const RULES = { rules: [{ action: 'bash', resource: '*', effect: PermissionRule_Effect.ASK }] }

interface Change {
  readonly title?: string
  readonly metadata?: JsonObject
  readonly permissions?: typeof RULES
}

forEachTransport((name, connect) => {
  test(`an update changes what its mask names, and clears what is named and not set (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    const said = { title: 'One', metadata: { a: 1 }, permissions: RULES }
    await client.createSession({ sessionId, ...said }, service.as())
    const shown = async () => {
      const { session } = await client.getSession({ sessionId }, service.as())
      return [session?.title, session?.metadata, session?.permissions?.rules.length]
    }
    const other = { title: 'Two', metadata: { b: 2 }, permissions: { rules: [] } }
    const update = (paths: readonly string[] | undefined, change: Change = other) =>
      client.updateSession({ sessionId, ...change, ...(paths && { updateMask: { paths: [...paths] } }) }, service.as())

    await update([])
    assert.deepEqual(await shown(), ['One', { a: 1 }, 1])
    await update(['title'])
    assert.deepEqual(await shown(), ['Two', { a: 1 }, 1])
    await update(['metadata', 'permissions'], {})
    assert.deepEqual(await shown(), ['Two', {}, 0])

    const problems = [
      [undefined, 'is required'],
      [['title', 'directory'], 'must name only title, metadata, permissions'],
    ] as const
    for (const [paths, problem] of problems) {
      const { reason, metadata } = await refusalOf(update(paths))
      assert.deepEqual([reason, metadata], ['REQUEST_INVALID', { field: 'update_mask', problem }])
    }
    assert.deepEqual(await shown(), ['Two', {}, 0])
  })
})

test('an update whose decision is repeated changes the same, even if a title was completed meanwhile', async () => {
  const newId = (prefix: string) => `${prefix}_1`
  const { state } = newSession(input(), 1, newId).revision
  const titling = 'msg_0-title'
  const underWay = new Set([titling])
  const decided: unknown[] = []
  const store = {
    listMessages: async () => undefined,
    async revise(_key: object, _read: object, decide: (revision: Revision, read: undefined) => unknown) {
      for (let time = 0; time < 2; time++) {
        const revision = new Revision({ ...state, titling, lastAdmitter: admitter }, 1, 1, newId)
        decide(revision, undefined)
        decided.push(revision.changes)
        underWay.clear()
      }
      return undefined
    },
  }
  const dependencies = { store, titles: { underWay, find: () => assert.fail() } }
  const { updateSession } = sessionHandlers(dependencies as never)
  const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: '', kind: 'local-operator' } as const
  const values = createContextValues().set(callContextKey, { principal })
  await updateSession(
    create(UpdateSessionRequestSchema, { sessionId: 'ses_1', title: '', updateMask: { paths: ['title'] } }),
    { values } as never,
  )
  assert.deepEqual(decided, [{}, {}])
})

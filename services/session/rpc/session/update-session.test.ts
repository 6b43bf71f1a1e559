import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { createContextValues } from '@connectrpc/connect'
import { UpdateSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { newSession } from '#services/session/domain/new-session.ts'
import { Revision } from '#services/session/domain/revision.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { admitter, newSession as input } from '#test/contract/session-store.support.ts'
import { updateSession } from './update-session.ts'

test('a decision that is made again is made from what was known before, whatever has come to its end meanwhile', async () => {
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
  const update = updateSession({ store: store as never, titles: { underWay, find: () => assert.fail() } })
  const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: '', kind: 'local-operator' } as const
  const values = createContextValues().set(callContextKey, { principal })
  await update(create(UpdateSessionRequestSchema, { sessionId: 'ses_1', title: '' }), { values } as never)
  assert.deepEqual(decided, [{}, {}])
})

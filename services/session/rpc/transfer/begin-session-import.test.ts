import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { reasonOf } from '#shared/reasons.ts'
import { newSession } from '#test/contract/session-store.support.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

const MOST = 100

function begin({ client, as }: SessionRpc, sessionId: string, parentId: string) {
  return client.beginSessionImport({ session: { sessionId, parentId, createTime: timestampFromMs(1) } }, as())
}

forEachTransport((name, connect) => {
  test(`a session of an import lies below ${MOST} others at most (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    for (let n = 1; n <= MOST; n++) {
      await service.store.createSession('wrk_1', newSession(`ses_${n}`), n === 1 ? undefined : `ses_${n - 1}`)
    }
    const { import: begun } = await begin(service, 'ses_last', `ses_${MOST}`)
    const session = { sessionId: 'ses_last', parentId: `ses_${MOST}`, createTime: timestampFromMs(1) }
    await service.client.commitSessionImport({ import: begun, session }, service.as())
    await assert.rejects(begin(service, 'ses_beyond', 'ses_last'), (error) => {
      const { reason, metadata } = reasonOf(error) ?? assert.fail()
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', 'parent_id'])
      return true
    })
  })

  test(`a parent that is not there is not found (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await assert.rejects(begin(service, 'ses_1', 'ses_none'), (error) => {
      const { reason, metadata } = reasonOf(error) ?? assert.fail()
      assert.deepEqual([reason, metadata.session_id], ['SESSION_NOT_FOUND', 'ses_none'])
      return true
    })
  })
})

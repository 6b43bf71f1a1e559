import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { connectLocal } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const sessionId = 'ses_1'

/** A session with a message that has a file and an input that has another; both go with it when the first is read. */
async function goingSession(): Promise<SessionRpc> {
  const service = await openSessionRpc(connectLocal)
  const { client, store, blobs } = service
  await client.createSession({ sessionId }, service.as())
  const prompt = (messageId: string) =>
    client.promptSession({ sessionId, messageId, text: 'Hi', files: [{ uri: `data:,${messageId}` }] }, service.as())
  await prompt('msg_1')
  const lease = await store.acquireLease('owner', 60_000)
  assert.ok(lease)
  await store.promote(lease, 'idle')
  await prompt('msg_2')
  const get = blobs.get.bind(blobs)
  let gone: Promise<unknown> | undefined
  blobs.get = async (workspace, hash) => {
    gone ??= client
      .removeSession({ sessionId }, service.as())
      .then(() => waitFor('the content to go', async () => (await get(workspace, hash)) === undefined))
    await gone
    return get(workspace, hash)
  }
  return service
}

const READS: Readonly<Record<string, (service: SessionRpc) => Promise<unknown>>> = {
  'a page of messages': ({ client, as }) => client.listMessages({ sessionId }, as()),
  'one message': ({ client, as }) => client.getMessage({ sessionId, messageId: 'msg_1' }, as()),
  'the inbox': ({ client, as }) => client.listInboxItems({ sessionId }, as()),
  'the context': ({ client, as }) => Array.fromAsync(client.streamSessionContext({ sessionId }, as())),
  'an export': ({ client, as }) => Array.fromAsync(client.exportSession({ sessionId }, as())),
  'a prompt that is sent again': ({ client, as }) => {
    const files = [{ uri: 'data:,msg_1' }]
    return client.promptSession({ sessionId, messageId: 'msg_1', text: 'Hi', files }, as())
  },
}

for (const [what, read] of Object.entries(READS)) {
  test(`${what} of a session that is removed while its content is read is not found`, async () => {
    await using service = await goingSession()
    assert.equal((await refusalOf(read(service))).reason, 'SESSION_NOT_FOUND')
  })
}

/** A session of several pages; after the given page is read, another one has its id. */
async function replacedSession(page: number): Promise<SessionRpc> {
  const service = await openSessionRpc(connectLocal)
  const { client, store } = service
  const fill = async (agent: string): Promise<void> => {
    await client.createSession({ sessionId }, service.as())
    for (let i = 0; i < 130; i++)
      await client.switchSessionAgent({ sessionId, agent: `${agent}${i % 2}` }, service.as())
  }
  await fill('old')
  const list = store.listMessages.bind(store)
  let pages = 0
  store.listMessages = async (workspace, id, query) => {
    const found = await list(workspace, id, query)
    if (++pages !== page) return found
    await client.removeSession({ sessionId }, service.as())
    await fill('new')
    return found
  }
  return service
}

const LONG_READS: typeof READS = {
  'the context': ({ client, as }) => Array.fromAsync(client.streamSessionContext({ sessionId }, as())),
  'an export': ({ client, as }) => Array.fromAsync(client.exportSession({ sessionId }, as())),
  'a fork': ({ client, as }) => client.forkSession({ sessionId, forkId: 'ses_fork' }, as()),
}

for (const [what, read] of Object.entries(LONG_READS)) {
  test(`${what} of a session in whose place another one is made meanwhile is not found`, async () => {
    for (const page of [1, 2, 3]) {
      await using service = await replacedSession(page)
      assert.equal((await refusalOf(read(service))).reason, 'SESSION_NOT_FOUND', `after page ${page}`)
      const fork = service.client.getSession({ sessionId: 'ses_fork' }, service.as())
      assert.equal((await refusalOf(fork)).reason, 'SESSION_NOT_FOUND')
    }
  })
}

test('content that the store has lost is an internal error', async () => {
  await using service = await goingSession()
  service.blobs.get = async () => undefined
  for (const read of Object.values(READS)) {
    await assert.rejects(read(service), /\[internal\] Internal error/)
  }
})

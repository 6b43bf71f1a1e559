import assert from 'node:assert/strict'
import {
  asOperator,
  type CatalogFixture,
  catalogTest,
  longSleep,
  processesWith,
  rejection,
} from '#test/support/catalog.ts'

/** Starts a command that does not end by itself; resolves when it has reported something. */
async function start({ client }: CatalogFixture, sessionId: string, callId: string, fence: bigint, tag: string) {
  const command = `trap '' TERM; setsid sleep ${tag} & echo up; sleep ${tag}; sleep ${tag}`
  const grant = [{ action: 'bash', resources: [command] }]
  const call = { sessionId, callId, fence, name: 'bash', input: { command }, grant }
  const iterator = client.runTool(call, asOperator)[Symbol.asyncIterator]()
  assert.equal((await iterator.next()).value?.event.case, 'progressed')
  return iterator
}

catalogTest(
  'ends the calls of older fences, and only those of the session, and answers when they are gone',
  async (catalog) => {
    const [tag, other] = [longSleep(), longSleep()]
    const first = await start(catalog, 'ses_1', 'call_1', 1n, tag)
    const second = await start(catalog, 'ses_1', 'call_2', 1n, tag)
    const elsewhere = await start(catalog, 'ses_2', 'call_1', 1n, other)
    const { endedCallIds } = await catalog.client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator)
    assert.deepEqual(endedCallIds, ['call_1', 'call_2'])
    assert.deepEqual(await processesWith(tag), [])
    assert.notDeepEqual(await processesWith(other), [])
    for (const iterator of [first, second]) await assert.rejects(iterator.next(), rejection('TOOL_FENCED'))
    const again = await catalog.client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator)
    assert.deepEqual(again.endedCallIds, [])
    await catalog.client.endTools({ sessionId: 'ses_2', fence: 2n }, asOperator)
    await assert.rejects(elsewhere.next(), rejection('TOOL_FENCED'))
  },
)

catalogTest('leaves calls of the same fence alone', async (catalog) => {
  const tag = longSleep()
  const iterator = await start(catalog, 'ses_1', 'call_1', 2n, tag)
  assert.deepEqual((await catalog.client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator)).endedCallIds, [])
  assert.notDeepEqual(await processesWith(tag), [])
  await catalog.client.endTools({ sessionId: 'ses_1', fence: 3n }, asOperator)
  await assert.rejects(iterator.next(), rejection('TOOL_FENCED'))
})

catalogTest('a call under a newer fence waits until the older ones have ended', async (catalog) => {
  const tag = longSleep()
  const iterator = await start(catalog, 'ses_1', 'call_1', 1n, tag)
  const grant = [{ action: 'list', resources: ['.'] }]
  const call = { sessionId: 'ses_1', callId: 'call_1', fence: 2n, name: 'list', input: {}, grant }
  for await (const { event } of catalog.client.runTool(call, asOperator)) assert.equal(event.case, 'completed')
  assert.deepEqual(await processesWith(tag), [])
  await assert.rejects(iterator.next(), rejection('TOOL_FENCED'))
})

catalogTest('an older fence is TOOL_FENCED, and a session without a name REQUEST_INVALID', async ({ client }) => {
  await client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator)
  await assert.rejects(client.endTools({ sessionId: 'ses_1', fence: 1n }, asOperator), rejection('TOOL_FENCED'))
  await assert.rejects(
    client.endTools({ fence: 1n }, asOperator),
    rejection('REQUEST_INVALID', { field: 'session_id', problem: 'must not be empty' }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { fileResult } from '#test/support/every-message.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { connectLocal } from '#test/support/transports.ts'
import { nothing } from '../ports/session-store.ts'
import { holdingBlobs } from '../run/lifetime/holding-blobs.ts'

/** A session in which tool calls have returned files of these contents. */
async function begin(...contents: string[]): Promise<SessionRpc> {
  const service = await openSessionRpc(connectLocal)
  await service.client.createSession({ sessionId: 'ses_1' }, service.as())
  for (const content of contents) await addFile(service, content)
  return service
}

function addFile({ store, blobs }: SessionRpc, content: string): Promise<void> {
  return holdingBlobs(blobs, async (hold) => {
    const blob = await blobs.put('wrk_1', Buffer.from(content), hold)
    const file = fileResult({ case: 'blob', value: blob }, 'text/plain')
    const value = { messageId: 'msg_1', callId: 'call_1', content: [file] }
    await store.revise({ workspace: 'wrk_1', sessionId: 'ses_1' }, nothing, (revision) =>
      revision.event({ case: 'toolSucceeded', value }),
    )
  })
}

/** The types of events, and the contents of their files. */
function open({ client, as }: SessionRpc, position?: string) {
  const stream = client.streamEvents({ position }, as())[Symbol.asyncIterator]()
  const word = async (): Promise<string | undefined> => {
    const { value } = await stream.next()
    if (value?.message.case !== 'event') return value?.message.case
    const { event } = value.message.value
    if (event.case !== 'toolSucceeded') return event.case
    const content = event.value.content[0]?.content
    return content?.case === 'file' ? Buffer.from(content.value.source.value as Uint8Array).toString() : content?.case
  }
  return { word, leave: () => stream.return?.() }
}

/** The position of a stream that begins now. */
async function positionOf({ client, as }: SessionRpc): Promise<string> {
  for await (const { message } of client.streamEvents({}, as())) {
    if (message.case === 'connected') return message.value.position
  }
  throw new Error('The stream has no position')
}

test('content that could not be read for one stream is read again for the next', async () => {
  await using service = await begin()
  const { blobs } = service
  const position = await positionOf(service)
  // Who listens all the time keeps the events in memory.
  const [steady, first] = [open(service), open(service)]
  assert.deepEqual([await steady.word(), await first.word()], ['connected', 'connected'])
  const get = blobs.get
  blobs.get = () => Promise.reject(storeUnavailable('away'))
  await addFile(service, 'picture')
  await assert.rejects(first.word())
  blobs.get = get
  const again = open(service, position)
  assert.deepEqual([await again.word(), await again.word(), await again.word()], ['connected', 'caughtUp', 'picture'])
  assert.equal(await steady.word(), 'picture')
  await Promise.all([steady.leave(), again.leave()])
})

test('content is read once for all streams and logs that need it at the same time', async () => {
  await using service = await begin()
  const { blobs, client, as } = service
  const streams = [open(service), open(service)]
  for (const { word } of streams) assert.equal(await word(), 'connected')
  const logs = [1, 2].map(() =>
    client.streamSessionLog({ sessionId: 'ses_1', follow: true }, as())[Symbol.asyncIterator](),
  )
  for (const log of logs) while ((await log.next()).value?.message.case !== 'synced');
  const get = blobs.get.bind(blobs)
  let reads = 0
  blobs.get = async (...words) => {
    reads++
    return get(...words)
  }
  await Promise.all([
    ...streams.map(({ word }) => word()),
    ...logs.map((log) => log.next()),
    addFile(service, 'picture'),
  ])
  assert.equal(reads, 1)
  for (const { leave } of streams) await leave()
  for (const log of logs) await log.return?.()
})

test('an event is left out when its content was removed together with its session', async () => {
  await using service = await begin()
  const { blobs, client } = service
  const stream = open(service)
  assert.equal(await stream.word(), 'connected')
  // Pulled by another reader, so that they stay in memory for this one.
  const other = open(service)
  assert.equal(await other.word(), 'connected')
  await addFile(service, 'picture')
  assert.equal(await other.word(), 'picture')
  await client.removeSession({ sessionId: 'ses_1' }, service.as())
  assert.equal(await other.word(), 'sessionDeleted')
  blobs.get = async () => undefined
  assert.equal(await stream.word(), 'sessionDeleted')
  await Promise.all([stream.leave(), other.leave()])
})

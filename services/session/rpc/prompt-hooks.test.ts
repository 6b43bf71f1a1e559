import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { EditedPromptSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { connectLocal } from '#test/support/transports.ts'

const sessionId = 'ses_a'

async function begin() {
  const service = await openSessionRpc(connectLocal)
  await service.client.createSession({ sessionId }, service.as())
  const prompt = async (messageId: string, more: object = {}) => {
    const { item } = await service.client.promptSession({ sessionId, messageId, text: 'Hi', ...more }, service.as())
    assert.ok(item?.payload.case === 'prompt')
    const { text, files, agents, metadata } = item.payload.value
    const said = files.map(({ source, name, mention }) => [
      Buffer.from(source.value as Uint8Array).toString(),
      name,
      mention?.text,
    ])
    return { text, files: said, agents: agents.map(({ name }) => name), metadata, delivery: item.delivery }
  }
  return { service, prompt }
}

test('plugins change text, files, metadata and delivery of a prompt before files are read, and once per id', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  let edits = 0
  service.plugins.edit = ({ text, files, agents, skills, metadata, queued }) => {
    assert.deepEqual([skills, metadata, queued], [[], { a: 1 }, false])
    const file = { uri: 'file:///project/added', name: 'added' }
    const names = { agents: ['build', ...agents], skills }
    const words = { text: `${text}!`, files: [...files.slice(1), file], ...names }
    return create(EditedPromptSchema, { ...words, metadata: { edits: ++edits }, queued: true })
  }
  const mention = { start: 0, end: 1, text: 'H' }
  const files = [{ uri: 'http://not-read' }, { uri: 'data:,kept', name: 'kept', mention }]
  const sent = { metadata: { a: 1 }, files, agents: [{ name: 'plan' }] }
  const changed = {
    ...{ text: 'Hi!', agents: ['build', 'plan'], metadata: { edits: 1 }, delivery: Delivery.QUEUE },
    files: [
      ['data:,kept', 'kept', 'H'],
      ['file:///project/added', 'added', undefined],
    ],
  }
  assert.deepEqual(await prompt('msg_1', sent), changed)
  assert.deepEqual(await prompt('msg_1', sent), changed, 'what was admitted is not changed again')
  assert.deepEqual((await prompt('msg_2', { metadata: { a: 1 } })).metadata, { edits: 2 })
  assert.equal(edits, 2)
})

test('a plugin that throws, or returns an invalid prompt, leaves a prompt unchanged', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  const as = (text: string) => ({ text, files: [], agents: [], metadata: undefined, delivery: Delivery.STEER })
  service.plugins.edit = () => {
    throw new Error('away')
  }
  assert.deepEqual(await prompt('msg_1'), as('Hi'))
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'x'.repeat(1_048_577) })
  assert.deepEqual(await prompt('msg_2'), as('Hi'))
  service.plugins.edit = (prompt) => ({ ...prompt, metadata: { long: 'x'.repeat(65_536) } })
  assert.deepEqual(await prompt('msg_3'), as('Hi'))
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new', agents: ['nobody'] })
  assert.deepEqual(await prompt('msg_4'), as('Hi'))
  assert.deepEqual(
    service.warnings.map(({ plugins, msg }) => [plugins, msg]),
    [
      [undefined, 'A prompt is admitted unchanged: plugins could not be called'],
      ...Array(3).fill(['fake', 'A prompt is admitted unchanged: the changes by plugins could not be used']),
    ],
  )
})

test('a prompt is not admitted when the store fails after plugins changed it, and is admitted as changed when it is sent again', async (t) => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new' })
  const files = [{ uri: 'data:,kept' }]
  const fails = t.mock.method(service.blobs, 'put')
  fails.mock.mockImplementationOnce(() => Promise.reject(storeUnavailable('election')))
  await assert.rejects(prompt('msg_1', { files }), { name: 'ConnectError' })
  assert.deepEqual(service.warnings, [])
  assert.equal((await prompt('msg_1', { files })).text, 'new')
})

test('a fault in a prompt that plugins left unchanged is not logged as a fault of theirs, and its files are read once', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.edit = (prompt) => prompt
  await assert.rejects(prompt('msg_1', { files: [{ uri: 'http://x/' }] }), /Only data: and file: are read/)
  assert.deepEqual(service.warnings, [])
  assert.deepEqual(service.read, ['/project http://x/'])
})

test('an id that is sent again is compared with what the client sent, not with what plugins made of it', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'the same' })
  await prompt('msg_1', { text: 'one' })
  assert.equal((await prompt('msg_1', { text: 'one' })).text, 'the same')
  await assert.rejects(prompt('msg_1', { text: 'the same' }), /msg_1/)
  await assert.rejects(prompt('msg_1', { text: 'two' }), /msg_1/)
})

test('files with the same address each keep their mention', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new' })
  const mentioned = (text: string) => ({ uri: 'data:,a', mention: { start: 0, end: 1, text } })
  const { files } = await prompt('msg_1', { files: [mentioned('one'), mentioned('two')] })
  assert.deepEqual(
    files.map(([, , mention]) => mention),
    ['one', 'two'],
  )
})

test('a catalog that is away when hooks are looked for delays nobody for long, and loses nothing', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.lookup = () => Promise.reject(new Error('away'))
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new' })
  assert.equal((await prompt('msg_1')).text, 'Hi')
  service.plugins.lookup = undefined
  service.clock.time += 1_000
  assert.equal((await prompt('msg_2')).text, 'new')
})

test('a client that hangs up while hooks are looked for has admitted nothing', async () => {
  const { service } = await begin()
  await using _ = service
  const looked = Promise.withResolvers<void>()
  const leave = new AbortController()
  service.plugins.lookup = () => {
    leave.abort()
    return looked.promise
  }
  const request = { sessionId, messageId: 'msg_1', text: 'Hi' }
  const prompted = service.client.promptSession(request, { ...service.as(), signal: leave.signal })
  await assert.rejects(prompted)
  looked.resolve()
  await new Promise(setImmediate)
  const { items } = await service.client.listInboxItems({ sessionId }, service.as())
  assert.deepEqual(items, [])
})

test('remembers for a second that plugins change prompts', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new' })
  for (const id of ['msg_1', 'msg_2', 'msg_3']) assert.equal((await prompt(id)).text, 'new')
  assert.equal(service.plugins.lookups, 1)
})

test('the catalog is queried once a second, however many prompts come, while no plugin changes prompts', async () => {
  const { service, prompt } = await begin()
  await using _ = service
  await Promise.all(Array.from({ length: 100 }, (_, i) => prompt(`msg_a${i}`)))
  assert.equal(service.plugins.lookups, 1)
  service.clock.time += 999
  await prompt('msg_b')
  assert.equal(service.plugins.lookups, 1)
  service.clock.time += 1
  service.plugins.edit = (prompt) => ({ ...prompt, text: 'new' })
  assert.equal((await prompt('msg_c')).text, 'new')
  assert.equal(service.plugins.lookups, 2)
})

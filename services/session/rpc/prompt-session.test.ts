import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import type { PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

async function withSession(connect: Connect): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  await service.client.createSession({ sessionId }, service.as())
  return service
}

forEachTransport((name, connect) => {
  test(`an input is admitted with its files read, and makes the session due (${name})`, async () => {
    await using service = await withSession(connect)
    const mention = { start: 0, end: 5, text: 'Hello' }
    const request = {
      ...{ sessionId, messageId: 'msg_1', text: 'Hello', delivery: Delivery.QUEUE, metadata: { from: 'test' } },
      files: [
        { uri: 'data:,inline' },
        { uri: 'file:///project/file.txt', name: 'mine', description: 'a file', mention },
      ],
      agents: [{ name: 'plan', mention }],
    }
    const { item } = await service.client.promptSession(request, service.as())
    assert.ok(item?.payload.case === 'prompt' && item.createTime)
    const prompt = item.payload.value
    assert.deepEqual([item.messageId, item.sessionId, item.delivery], ['msg_1', sessionId, Delivery.QUEUE])
    assert.equal(item.createTime, service.clock.time)
    assert.equal(prompt.text, 'Hello')
    assert.deepEqual(prompt.metadata, { from: 'test' })
    assert.equal(prompt.agents[0]?.name, 'plan')
    assert.deepEqual(
      prompt.files.map(({ source, mime, uri, name, description }) => [
        Buffer.from(source.value as Uint8Array).toString(),
        mime,
        uri,
        name,
        description,
      ]),
      [
        ['data:,inline', 'text/plain', undefined, undefined, undefined],
        ['file:///project/file.txt', 'text/plain', 'file:///project/file.txt', 'mine', 'a file'],
      ],
    )
    assert.deepEqual(service.read, ['/project data:,inline', '/project file:///project/file.txt'])
    assert.equal(await service.store.isBusy('wrk_1', sessionId), true)
  })

  test(`a parked input waits without waking the session (${name})`, async () => {
    await using service = await withSession(connect)
    const { item } = await service.client.promptSession(
      { sessionId, messageId: 'msg_1', text: 'a', parked: true },
      service.as(),
    )
    assert.equal(item?.delivery, Delivery.STEER)
    assert.equal(await service.store.isBusy('wrk_1', sessionId), false)
  })

  test(`the same id with the same content returns the first admission, and reads no file again (${name})`, async () => {
    await using service = await withSession(connect)
    const request = { sessionId, messageId: 'msg_1', text: 'a', files: [{ uri: 'data:,x' }], parked: true }
    const first = await service.client.promptSession(request, service.as())
    service.clock.time += 1000
    const again = await service.client.promptSession({ ...request, parked: false }, service.as())
    assert.deepEqual(again.item, first.item)
    assert.equal(service.read.length, 1)
    assert.equal(await service.store.isBusy('wrk_1', sessionId), true)
  })

  test(`skills are read where the session is, once, and replayed as they were; each text is kept once (${name})`, async () => {
    await using service = await withSession(connect)
    const mention = { start: 0, end: 1, text: 'a' }
    const skills = [{ skillId: 'team/a', mention }, { skillId: 'b' }, { skillId: 'team/a' }]
    const request = { sessionId, messageId: 'msg_1', text: 'a', skills, parked: true }
    const { item } = await service.client.promptSession(request, service.as())
    assert.ok(item?.payload.case === 'prompt')
    assert.deepEqual(
      item.payload.value.skills.map(({ skillId, name, text, mention }) => [skillId, name, text, mention?.text]),
      [
        ['team/a', 'Name of team/a', 'Text of team/a', 'a'],
        ['b', 'Name of b', 'Text of b', undefined],
        ['team/a', 'Name of team/a', undefined, undefined],
      ],
    )
    assert.deepEqual(service.read.sort(), ['/project b', '/project team/a'])
    assert.deepEqual((await service.client.promptSession(request, service.as())).item, item)
    assert.equal(service.read.length, 2)
    const other = service.client.promptSession({ ...request, skills: skills.slice(1) }, service.as())
    assert.equal((await refusalOf(other)).reason, 'PROMPT_CONFLICT')
  })

  test(`the order of members does not matter (${name})`, async () => {
    await using service = await withSession(connect)
    const request = { sessionId, messageId: 'msg_1', text: 'a' }
    const one = { metadata: { a: 1, b: [{ c: 2, d: null }] }, delivery: Delivery.STEER }
    const two = { metadata: { b: [{ d: null, c: 2 }], a: 1 } }
    const first = await service.client.promptSession({ ...request, ...one }, service.as())
    const again = await service.client.promptSession({ ...request, ...two }, service.as())
    assert.deepEqual(again.item?.messageId, first.item?.messageId)
    const other = service.client.promptSession({ ...request, metadata: { b: [2, 1], a: 1 } }, service.as())
    assert.equal((await refusalOf(other)).reason, 'PROMPT_CONFLICT')
  })

  test(`the same id with other content, or in another session, is a conflict (${name})`, async () => {
    await using service = await withSession(connect)
    await service.client.createSession({ sessionId: 'ses_b' }, service.as())
    const request = { sessionId, messageId: 'msg_1', text: 'a' }
    await service.client.promptSession(request, service.as())
    for (const other of [{ text: 'b' }, { delivery: Delivery.QUEUE }, { sessionId: 'ses_b' }, { metadata: {} }]) {
      const refusal = await refusalOf(service.client.promptSession({ ...request, ...other }, service.as()))
      assert.deepEqual(
        [refusal.code, refusal.reason, refusal.metadata.message_id],
        ['AlreadyExists', 'PROMPT_CONFLICT', 'msg_1'],
      )
    }
  })

  const mentioned = (length: number) => ({ uri: 'data:,', mention: { text: 'x'.repeat(length) } })

  test(`values out of bounds are refused, and nothing is admitted (${name})`, async () => {
    await using service = await withSession(connect)
    const cases: readonly (readonly [MessageInitShape<typeof PromptSessionRequestSchema>, string])[] = [
      [{ messageId: 'abc' }, 'message_id'],
      [{ messageId: `msg_${'a'.repeat(125)}` }, 'message_id'],
      [{ text: 'x'.repeat(1_048_577) }, 'text'],
      [{ files: Array(33).fill({ uri: 'data:,' }) }, 'files'],
      [{ files: [{ uri: 'data:,' }, { uri: 'data:,', name: 'x'.repeat(1_025) }] }, 'files[1].name'],
      [{ files: [{ uri: 'data:,', description: 'x'.repeat(16_385) }] }, 'files[0].description'],
      [{ files: [{ uri: 'data:,', mention: { text: 'x'.repeat(1_048_577) } }] }, 'files[0].mention.text'],
      [{ agents: [{ name: 'a', mention: { text: 'x'.repeat(1_048_577) } }] }, 'agents[0].mention.text'],
      [{ agents: Array(33).fill({ name: 'a' }) }, 'agents'],
      [{ agents: [{ name: 'a' }, { name: '' }] }, 'agents[1].name'],
      [{ agents: [{ name: 'a' }, { name: 'nobody' }] }, 'agents[1].name'],
      [{ skills: Array(33).fill({ skillId: 'a' }) }, 'skills'],
      [{ skills: [{ skillId: 'a' }, { skillId: '' }] }, 'skills[1].skill_id'],
      [{ skills: [{ skillId: 'a', mention: { text: 'x'.repeat(1_048_577) } }] }, 'skills[0].mention.text'],
      [{ skills: [{ skillId: 'a' }, { skillId: 'nobody' }] }, 'skills'],
      [{ text: '\0'.repeat(1_048_576), skills: [{ skillId: 'size:60000' }, { skillId: 'size:60001' }] }, 'skills'],
      [{ files: [mentioned(600_000)], agents: [{ name: 'a', ...mentioned(448_577) }] }, 'text'],
      [{ skills: [1, 448_577, 600_000].map((size) => ({ skillId: 'a', ...mentioned(size) })) }, 'text'],
      [
        { text: '\0'.repeat(1_048_576), files: Array(6).fill({ uri: 'data:,', description: '\0'.repeat(16_384) }) },
        'text',
      ],
      [{ metadata: { long: 'x'.repeat(65_536) } }, 'metadata'],
      [{ delivery: 9 as Delivery }, 'delivery'],
    ]
    for (const [request, field] of cases) {
      const call = service.client.promptSession({ sessionId, messageId: 'msg_1', ...request }, service.as())
      const { reason, metadata } = await refusalOf(call)
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', field])
    }
    const files = [{ uri: 'https://example.com/' }]
    const attachment = service.client.promptSession({ sessionId, messageId: 'msg_1', files }, service.as())
    assert.equal((await refusalOf(attachment)).reason, 'ATTACHMENT_INVALID')
    assert.equal(await service.store.isBusy('wrk_1', sessionId), false)
  })

  test(`an unknown session, and another workspace's, is not found (${name})`, async () => {
    await using service = await withSession(connect)
    for (const files of [[], [{ uri: 'data:,x' }]]) {
      const request = { sessionId, messageId: 'msg_1', text: 'a', files }
      const refusal = await refusalOf(service.client.promptSession(request, service.as('wrk_2')))
      assert.deepEqual([refusal.code, refusal.reason], ['NotFound', 'SESSION_NOT_FOUND'])
    }
  })

  test(`files with more than 40 MiB together are refused, and nothing is admitted (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId: 'ses_a' }, service.as())
    const files = ['a', 'b', 'c'].map(() => ({ uri: 'size:15000000' }))
    const request = { sessionId: 'ses_a', messageId: 'msg_1', text: 'see', files }
    const refused = await refusalOf(service.client.promptSession(request, service.as()))
    assert.equal(refused.reason, 'ATTACHMENT_INVALID')
    assert.equal(await service.store.getInput('wrk_1', 'ses_a', 'msg_1'), undefined)
  })
})

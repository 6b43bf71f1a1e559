import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { PermissionRule_Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { CreateSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`a session is made with what was given, in the location that the catalog resolves (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const request = {
      sessionId: 'ses_a',
      title: 'A title',
      agent: 'plan',
      model: { providerId: 'openai', modelId: 'gpt', variant: 'high' },
      directory: '/elsewhere',
      metadata: { ticket: 7, nested: { deep: [true, null] } },
      permissions: { rules: [{ action: 'bash', resource: '*', effect: PermissionRule_Effect.ASK }] },
    }
    const { session } = await service.client.createSession(request, service.as())
    assert.ok(session?.createTime && session.updateTime && session.model && session.permissions)
    assert.equal(session.sessionId, 'ses_a')
    assert.equal(session.title, 'A title')
    assert.equal(session.agent, 'plan')
    assert.deepEqual({ ...session.model }, { $typeName: 'portico.catalog.v1.ModelRef', ...request.model })
    assert.deepEqual([session.directory, session.projectId, session.subpath], ['/elsewhere', 'global', ''])
    assert.deepEqual(session.metadata, request.metadata)
    assert.deepEqual(
      session.permissions.rules.map(({ action, resource, effect }) => ({ action, resource, effect })),
      request.permissions.rules,
    )
    assert.equal(session.createTime, service.clock.time)
    assert.equal(session.updateTime, service.clock.time)
    assert.equal(session.costNanos, 0n)
    assert.equal(session.idleTime, undefined)
  })

  test(`an existing id returns its session unchanged (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { session } = await service.client.createSession({ sessionId: 'ses_a', title: 'first' }, service.as())
    service.clock.time += 1000
    const again = await service.client.createSession({ sessionId: 'ses_a', title: 'second' }, service.as())
    assert.deepEqual(again.session, session)
    const gone = await service.client.createSession({ sessionId: 'ses_a', directory: '/missing' }, service.as())
    assert.deepEqual(gone.session, session, 'though its directory may be gone')
    const outsider = await service.client.createSession({ sessionId: 'ses_a', title: 'theirs' }, service.as('wrk_2'))
    assert.equal(outsider.session?.title, 'theirs')
  })

  test(`values out of bounds are invalid, and the field is named (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const rule = { action: 'a', resource: 'b', effect: PermissionRule_Effect.ALLOW }
    const cases: readonly (readonly [MessageInitShape<typeof CreateSessionRequestSchema>, string])[] = [
      [{ sessionId: 'abc' }, 'session_id'],
      [{ sessionId: `ses${'a'.repeat(126)}` }, 'session_id'],
      [{ sessionId: 'ses_\u0000' }, 'session_id'],
      [{ title: 'x'.repeat(4_097) }, 'title'],
      [{ agent: 'x'.repeat(257) }, 'agent'],
      [{ directory: `/${'x'.repeat(4_096)}` }, 'directory'],
      [{ model: { providerId: '', modelId: 'm' } }, 'model'],
      [{ metadata: { long: 'x'.repeat(65_536) } }, 'metadata'],
      [{ permissions: { rules: Array(1_001).fill(rule) } }, 'permissions'],
      [{ permissions: { rules: [{ action: 'a', resource: 'b' }] } }, 'permissions'],
      [{ permissions: { rules: [{ ...rule, resource: 'x'.repeat(4_097) }] } }, 'permissions'],
      [{ permissions: { rules: Array(17).fill({ ...rule, resource: 'x'.repeat(4_000) }) } }, 'permissions'],
    ]
    for (const [request, field] of cases) {
      const call = service.client.createSession({ sessionId: 'ses_a', ...request }, service.as())
      const refusal = await refusalOf(call)
      assert.deepEqual(
        [refusal.code, refusal.reason, refusal.metadata.field],
        ['InvalidArgument', 'REQUEST_INVALID', field],
      )
    }
  })

  test(`a location that is missing or forbidden is refused, and nothing is created (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    for (const [directory, code, reason] of [
      ['/missing', 'NotFound', 'LOCATION_NOT_FOUND'],
      ['/forbidden', 'PermissionDenied', 'LOCATION_FORBIDDEN'],
    ]) {
      const refusal = await refusalOf(
        service.client.createSession({ sessionId: 'ses_a', directory: directory ?? '' }, service.as()),
      )
      assert.deepEqual([refusal.code, refusal.reason, refusal.metadata], [code, reason, { directory }])
      assert.equal(refusal.domain, 'catalog', 'as the catalog said it')
    }
    assert.deepEqual((await service.client.listSessions({}, service.as())).sessions, [])
  })

  test(`a call without a principal is refused (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    assert.equal((await refusalOf(service.client.createSession({ sessionId: 'ses_a' }))).reason, 'PRINCIPAL_MISSING')
  })
})

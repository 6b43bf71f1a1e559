import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditEntry, AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import { counted, entryOf, refused } from '#test/support/audit-events.ts'
import { openFederation } from '#test/support/federation.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`the audit log lists every change with its actor and the state before and after, newest first, in pages (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const settings = { name: 'CI', issuerUrl: 'https://issuer.example' }
    const { issuer } = await federation.createIssuer({ organizationId, settings }, as('management', 'key_admin'))
    const issuerId = issuer?.issuerId ?? ''
    const request = { organizationId, issuerId, settings: { name: 'new' }, updateMask: { paths: ['name'] } }
    await federation.updateIssuer(request, as('management', 'key_admin'))
    await federation.deleteIssuer({ organizationId, issuerId }, as('local-operator'))
    const { entries } = await federation.listAuditEntries({ organizationId, issuerId }, as('management'))
    const changes = entries.map(({ event }) => (event.case === 'change' ? event.value : assert.fail()))
    assert.deepEqual(
      changes.map(({ actorKeyId, resource, resourceId, before, after }) => {
        return [actorKeyId, resource, resourceId, before?.name, after?.name]
      }),
      [
        [undefined, Resource.ISSUER, issuerId, 'new', undefined],
        ['key_admin', Resource.ISSUER, issuerId, 'CI', 'new'],
        ['key_admin', Resource.ISSUER, issuerId, undefined, 'CI'],
      ],
    )
    const positions: number[] = []
    let pageToken: string | undefined
    do {
      const page = await federation.listAuditEntries({ organizationId, pageSize: 2, pageToken }, as('management'))
      positions.push(...page.entries.map(({ position }) => position))
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    assert.deepEqual(positions, [6, 5, 4, 3, 2, 1], 'organization, two keys, three changes')
  })

  test(`the audit log lists accepted and refused exchanges, and finds them by policy, issuer, kind and time (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, policy } = federation
    const { organizationId, as } = identity
    await federation.exchange()
    const list = async (more: object) =>
      (await identity.federation.listAuditEntries({ organizationId, ...more }, as('management'))).entries
    const [accepted] = await list({ kind: Kind.EXCHANGE_ACCEPTED })
    assert.ok(accepted?.event.case === 'exchangeAccepted')
    const { policyId, keyId, subject, tokenId } = accepted.event.value
    assert.deepEqual([policyId, keyId, subject], [policy.policyId, federation.keyId, 'a workload'])
    assert.notEqual(tokenId, '')
    assert.deepEqual(await list({ kind: Kind.EXCHANGE_ACCEPTED, policyId: policy.policyId }), [accepted])
    assert.deepEqual(await list({ kind: Kind.EXCHANGE_REFUSED }), [])
    assert.equal((await refusalOf(list({ kind: 9 }))).metadata.field, 'kind')
    assert.deepEqual(await list({ kind: Kind.EXCHANGE_ACCEPTED, policyId: 'other' }), [])
    const { time } = identity.clock
    assert.deepEqual(await list({ since: time + 1 }), [])
    assert.deepEqual(await list({ since: time, kind: Kind.EXCHANGE_ACCEPTED }), [accepted])
    assert.deepEqual(await list({ until: time, kind: Kind.EXCHANGE_ACCEPTED }), [])
  })

  test(`the audit log finds exchanges and changes by key, reason and subject (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, keyId } = federation
    const { organizationId, as } = identity
    const list = async (more: object) =>
      (await identity.federation.listAuditEntries({ organizationId, ...more }, as('management'))).entries
    await federation.exchange()
    await refusalOf(federation.exchange(federation.token({ sub: 'another' })))
    await identity.client.updateApiKey({ keyId, disabled: true, updateMask: { paths: ['disabled'] } }, as('management'))
    const [changed, refused, accepted, created] = await list({ keyId })
    assert.deepEqual(
      [changed, refused, accepted, created].map((entry) => entry?.event.case),
      ['change', 'exchangeRefused', 'exchangeAccepted', 'change'],
    )
    assert.deepEqual(await list({ keyId: 'key_other' }), [])
    assert.deepEqual(await list({ reason: 'subject' }), [refused])
    assert.deepEqual(await list({ reason: 'subject', kind: Kind.EXCHANGE_ACCEPTED }), [])
    assert.deepEqual(await list({ subject: 'another' }), [refused])
    assert.deepEqual(await list({ subject: 'a workload', keyId }), [accepted])
    const { value } = refused?.event.case === 'exchangeRefused' ? refused.event : assert.fail()
    assert.deepEqual([value.keyId, value.subject, value.found], [keyId, 'another', '"another"'])
    const { metadata } = await refusalOf(list({ reason: 'subjects' }))
    assert.equal(metadata.field, 'reason')
    assert.match(metadata.problem ?? '', /^must be one of policy, plan, .*single_use, issuer_keys$/)
    assert.equal((await refusalOf(list({ subject: '' }))).metadata.field, 'subject')
  })

  test(`refused exchanges show their issuer, one by one and counted, unless it was deleted (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, stores, policy, issuer } = federation
    const { organizationId, as } = identity
    const policyId = policy.policyId
    for (const event of [refused, counted]) {
      for (const issuerId of [issuer.issuerId, undefined]) {
        const value = { ...event.value, policyId, issuerId }
        await stores.auditLog.append(entryOf(organizationId, 2_000, { ...event, value } as AuditEntry['event']))
      }
    }
    const request = { organizationId, kind: Kind.EXCHANGE_REFUSED }
    const { entries } = await identity.federation.listAuditEntries(request, as('management'))
    const shown = entries.map(({ event }) => {
      const isRefused = event.case === 'exchangeRefused' || event.case === 'exchangesRefused'
      return isRefused ? [event.case, event.value.issuerId] : assert.fail()
    })
    assert.deepEqual(shown, [
      ['exchangesRefused', undefined],
      ['exchangesRefused', issuer.issuerId],
      ['exchangeRefused', undefined],
      ['exchangeRefused', issuer.issuerId],
    ])
  })

  test(`only an admin of the organization reads its audit log, and a page token belongs to one list (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const list = (request: object, kind: 'management' | 'workspace' = 'management') =>
      federation.listAuditEntries({ organizationId, ...request }, as(kind))
    assert.equal((await refusalOf(list({}, 'workspace'))).reason, 'MANAGEMENT_KEY_REQUIRED')
    assert.equal((await refusalOf(list({ organizationId: 'org_other' }))).reason, 'ORGANIZATION_NOT_FOUND')
    assert.equal((await refusalOf(list({ pageSize: -1 }))).reason, 'REQUEST_INVALID')
    const { nextPageToken: pageToken } = await list({ pageSize: 1 })
    assert.notEqual(pageToken, undefined)
    for (const request of [{ pageToken: 'x' }, { pageToken, kind: Kind.CHANGE }, { pageToken, policyId: 'p' }]) {
      assert.equal((await refusalOf(list(request))).reason, 'INVALID_CURSOR')
    }
  })
})

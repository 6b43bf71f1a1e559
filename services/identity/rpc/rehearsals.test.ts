import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { ExchangeStep_Verdict as Verdict } from '#gen/portico/identity/v1/federation_pb.js'
import type { TestPolicyRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { STEP_NAMES } from '#services/identity/domain/subject-token/step.ts'
import { AUDIENCE, openFederation, type TestFederation } from '#test/support/federation.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'
import { forEachTransport } from '#test/support/transports.ts'

type Given = MessageInitShape<typeof TestPolicyRequestSchema>['policy']

const rehearse = (federation: TestFederation, subjectToken: string, policy: Given) => {
  const { organizationId, as, federation: client } = federation.identity
  return client.testPolicy({ organizationId, policy, subjectToken } as never, as('management'))
}
const savedOf = ({ policy }: TestFederation) => ({ case: 'policyId', value: policy.policyId }) as const
const settingsOf = ({ issuer, keyId }: TestFederation, more: object = {}) =>
  ({
    case: 'settings',
    value: {
      name: 'new',
      issuerId: issuer.issuerId,
      subject: 'a workload',
      audience: AUDIENCE,
      keyId,
      enabled: true,
      ...more,
    },
  }) as const

forEachTransport((name, connect) => {
  test(`a rehearsal shows every step of an exchange, in order, for a saved and an unsaved policy (${name})`, async () => {
    await using federation = await openFederation(connect)
    for (const policy of [savedOf(federation), settingsOf(federation)]) {
      const { steps, accepted } = await rehearse(federation, federation.token(), policy)
      assert.equal(accepted, true)
      assert.deepEqual(
        steps.map((step) => step.name),
        [...STEP_NAMES],
      )
      assert.ok(steps.every(({ verdict }) => verdict === Verdict.PASSED || verdict === Verdict.SKIPPED))
    }
  })

  test(`a failed step shows what was expected and found, and never the token (${name})`, async () => {
    await using federation = await openFederation(connect)
    const condition = 'subject.startsWith("repo:") && "deploy" in scopes'
    const token = federation.token({ scopes: ['read'] })
    const settings = settingsOf(federation, { condition, checks: { tokenType: 'job' } })
    const { steps, accepted } = await rehearse(federation, token, settings)
    assert.equal(accepted, false)
    const failed = steps.filter(({ verdict }) => verdict === Verdict.FAILED)
    assert.deepEqual(
      failed.map(({ name, expected, found }) => [name, expected, found]),
      [
        ['token_type', '"job"', undefined],
        [
          'condition',
          condition,
          `false for {"subject":"a workload","audience":["${AUDIENCE}"],"scopes":["read"],"token_type":""}`,
        ],
      ],
    )
    for (const part of token.split('.').slice(1))
      assert.ok(!JSON.stringify(steps.map(({ found }) => found)).includes(part))
  })

  test(`a rehearsal finds that the issuer of its policy has been deleted (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { organizationId, as, federation: client } = federation.identity
    await client.deleteIssuer({ organizationId, issuerId: federation.issuer.issuerId }, as('management'))
    const { steps, accepted } = await rehearse(federation, federation.token(), savedOf(federation))
    const [failed, ...others] = steps.filter(({ verdict }) => verdict === Verdict.FAILED)
    assert.deepEqual([accepted, failed?.name, others], [false, 'issuer', []])
    assert.deepEqual([failed?.expected, failed?.found], ['an issuer that is not deleted', 'deleted'])
  })

  test(`a text that is no JWT fails in its form, and the further steps are skipped (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { steps, accepted } = await rehearse(federation, 'a.b', savedOf(federation))
    const [form, ...others] = steps
    assert.deepEqual(
      [accepted, form?.verdict, form?.found],
      [false, Verdict.FAILED, 'a text that is not three parts of base64url'],
    )
    assert.ok(others.length === STEP_NAMES.length - 1 && others.every(({ verdict }) => verdict === Verdict.SKIPPED))
  })

  test(`a rehearsal claims, records and issues nothing (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { stores, identity } = federation
    const issuer = await federation.addIssuer({ issuerUrl: 'https://once.example', singleUse: true })
    const policy = await federation.addPolicy({ issuerId: issuer.issuerId })
    const token = federation.token({ iss: issuer.settings.issuerUrl, jti: 'one' })
    const bad = signToken({}, newTokenKey('ES256', 'k1'))
    const count = async () => (await stores.auditLog.list(identity.organizationId, {}, undefined, 50)).items.length
    const before = await count()
    const saved = { case: 'policyId', value: policy.policyId } as const
    for (const text of [token, token, bad]) await rehearse(federation, text, saved)
    assert.equal(await count(), before)
    await federation.exchange(token, policy.policyId)
  })

  test(`only a management key of the organization may rehearse, and only with policies of that organization (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { federation: client, organizationId, as } = federation.identity
    const policy = savedOf(federation)
    const request = { organizationId, policy, subjectToken: federation.token() }
    assert.equal((await refusalOf(client.testPolicy(request, as('workspace')))).reason, 'MANAGEMENT_KEY_REQUIRED')
    const other = { ...request, organizationId: 'org_other' }
    assert.equal((await refusalOf(client.testPolicy(other, as('management')))).reason, 'ORGANIZATION_NOT_FOUND')
    for (const value of [randomUUID(), 'x']) {
      const unknown = { ...request, policy: { case: 'policyId', value } as const }
      assert.equal((await refusalOf(client.testPolicy(unknown, as('management')))).reason, 'POLICY_NOT_FOUND')
    }
  })

  test(`settings that could not be saved cannot be rehearsed (${name})`, async () => {
    await using federation = await openFederation(connect)
    const fieldOf = async (policy: Given, token = federation.token()) =>
      (await refusalOf(rehearse(federation, token, policy))).metadata.field
    assert.equal(await fieldOf(settingsOf(federation, { condition: 'subject.matches("a")' })), 'condition')
    assert.equal(await fieldOf(settingsOf(federation, { subject: undefined })), 'subject')
    assert.equal(await fieldOf(settingsOf(federation, { keyId: 'key_other' })), 'key_id')
    assert.equal(await fieldOf(settingsOf(federation, { issuerId: 'iss_other' })), 'issuer_id')
    assert.equal(await fieldOf({ case: undefined }), 'policy')
    assert.equal(await fieldOf(savedOf(federation), ''), 'subject_token')
  })
})

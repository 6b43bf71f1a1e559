import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  ClaimChecksSchema,
  ExchangeStepSchema,
  PolicySettingsSchema,
  ExchangeStep_Verdict as Result,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { checkAudience, checkIssuer, checkScopes, checkSubject, checkTokenType } from './rules.ts'
import { stepOf } from './step.ts'

const claims: JsonObject = {
  iss: 'https://issuer.test/tenant',
  sub: 'repo:acme/app',
  aud: ['https://portico.test', 'other'],
  scopes: ['read', 'write'],
  token_type: 'job',
}
const rules = create(PolicySettingsSchema, {
  subject: 'repo:acme/app',
  audience: 'other',
  checks: { scope: 'read', tokenType: 'job' },
})
const checks = create(ClaimChecksSchema)
const OURS = 'https://portico.test'

test('iss equals the URL of the issuer to the letter', () => {
  const check = (iss: unknown) =>
    checkIssuer({ ...claims, iss } as JsonObject, 'https://issuer.test/tenant', OURS).verdict
  assert.equal(check('https://issuer.test/tenant'), Result.PASSED)
  for (const iss of [
    ...[
      'https://issuer.test/tenant/',
      'https://Issuer.test/tenant',
      'https://issuer.test:443/tenant',
      'HTTPS://issuer.test/tenant',
    ],
    ...[
      'https://issuer.test',
      ' https://issuer.test/tenant',
      'https://issuer.test/%74enant',
      ['https://issuer.test/tenant'],
      1,
      null,
    ],
  ]) {
    assert.equal(check(iss), Result.FAILED, JSON.stringify(iss))
  }
})

test('our own tokens are refused, even if our origin was saved as an issuer', () => {
  assert.equal(checkIssuer({ ...claims, iss: OURS }, OURS, OURS).verdict, Result.FAILED)
})

test('a token of a deleted issuer is refused', () => {
  assert.deepEqual(checkIssuer(claims, undefined, OURS).verdict, Result.FAILED)
})

test('subject and audience are compared to the letter; a policy without a subject does not compare it', () => {
  const subject = (sub: unknown) => checkSubject({ ...claims, sub } as JsonObject, rules).verdict
  assert.equal(subject('repo:acme/app'), Result.PASSED)
  for (const sub of [
    'repo:acme/App',
    'repo:acme/app ',
    'repo:acme/ap',
    'repo:acme/app2',
    ['repo:acme/app'],
    undefined,
  ]) {
    assert.equal(subject(sub), Result.FAILED)
  }
  assert.equal(checkSubject(claims, { ...rules, subject: undefined }).verdict, Result.SKIPPED)
  const audience = (aud: unknown) => checkAudience({ ...claims, aud } as JsonObject, rules).verdict
  for (const aud of ['other', ['a', 'other']]) assert.equal(audience(aud), Result.PASSED)
  for (const aud of ['Other', 'other ', ['an other'], [['other']], { other: 'other' }, ['other', 1], undefined]) {
    assert.equal(audience(aud), Result.FAILED, JSON.stringify(aud))
  }
})

test('the scopes check requires a list of strings with its value; a space-separated scope is something else', () => {
  const check = (more: object) => checkScopes({ ...claims, ...more } as JsonObject, rules).verdict
  assert.equal(check({}), Result.PASSED)
  for (const scopes of [['Read'], [], ['read write'], 'read', ['read', 1], { 0: 'read' }, null]) {
    assert.equal(check({ scopes, scope: 'read' }), Result.FAILED, JSON.stringify(scopes))
  }
  const { scopes: _, ...without } = claims
  assert.equal(checkScopes({ ...without, scope: 'read' }, rules).verdict, Result.FAILED)
  assert.equal(checkScopes({ scopes: 'read' }, { checks }).verdict, Result.SKIPPED)
})

test('the token type check requires the claim, not the header, to equal its value', () => {
  const check = (token_type: unknown) => checkTokenType({ ...claims, token_type } as JsonObject, rules).verdict
  assert.equal(check('job'), Result.PASSED)
  for (const type of ['Job', ['job'], 1, null, '', undefined]) assert.equal(check(type), Result.FAILED)
  assert.equal(checkTokenType(claims, { checks }).verdict, Result.SKIPPED)
})

test('expected and found values are shown as JSON, which shows their type, and shortened', () => {
  const step = (init: MessageInitShape<typeof ExchangeStepSchema>) => create(ExchangeStepSchema, init)
  const [name, tokenType] = ['token_type', '1'] as const
  const failed = { name, verdict: Result.FAILED, expected: '"1"', found: '1' } as const
  assert.deepEqual(stepOf(name, checkTokenType({ token_type: 1 }, { checks: { ...checks, tokenType } })), step(failed))
  const subjectStep = (given: JsonObject) => stepOf('subject', checkSubject(given, rules))
  assert.deepEqual(subjectStep({}), step({ name: 'subject', verdict: Result.FAILED, expected: '"repo:acme/app"' }))
  assert.equal(subjectStep({ sub: '\u{1f600}'.repeat(3000) }).found?.length, 1024)
  // Characters that change the direction of text, or are invisible, are escaped.
  assert.equal(subjectStep({ sub: 'a\u202e\u{e0061}\n' }).found, '"a\\u202e\\udb40\\udc61\\n"')
})

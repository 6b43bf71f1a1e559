import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#shared/json.ts'
import { type ClaimRules, checkAudience, checkIssuer, checkScopes, checkSubject, checkTokenType } from './rules.ts'
import { stepOf } from './step.ts'

const claims: JsonObject = {
  iss: 'https://issuer.test/tenant',
  sub: 'repo:acme/app',
  aud: ['https://portico.test', 'other'],
  scopes: ['read', 'write'],
  token_type: 'job',
}
const rules: ClaimRules = { subject: 'repo:acme/app', audience: 'other', scope: 'read', tokenType: 'job' }
const OURS = 'https://portico.test'

test('iss equals the URL of the issuer to the letter', () => {
  const check = (iss: unknown) =>
    checkIssuer({ ...claims, iss } as JsonObject, 'https://issuer.test/tenant', OURS).verdict
  assert.equal(check('https://issuer.test/tenant'), 'passed')
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
    assert.equal(check(iss), 'failed', JSON.stringify(iss))
  }
})

test('our own tokens are refused, even where our origin had become an issuer', () => {
  assert.equal(checkIssuer({ ...claims, iss: OURS }, OURS, OURS).verdict, 'failed')
})

test('a deleted issuer refuses', () => {
  assert.deepEqual(checkIssuer(claims, undefined, OURS).verdict, 'failed')
})

test('subject and audience are compared to the letter; a policy without a subject does not compare it', () => {
  const subject = (sub: unknown) => checkSubject({ ...claims, sub } as JsonObject, rules).verdict
  assert.equal(subject('repo:acme/app'), 'passed')
  for (const sub of [
    'repo:acme/App',
    'repo:acme/app ',
    'repo:acme/ap',
    'repo:acme/app2',
    ['repo:acme/app'],
    undefined,
  ]) {
    assert.equal(subject(sub), 'failed')
  }
  assert.equal(checkSubject(claims, { ...rules, subject: undefined }).verdict, 'skipped')
  const audience = (aud: unknown) => checkAudience({ ...claims, aud } as JsonObject, rules).verdict
  for (const aud of ['other', ['a', 'other']]) assert.equal(audience(aud), 'passed')
  for (const aud of ['Other', 'other ', ['an other'], [['other']], { other: 'other' }, ['other', 1], undefined]) {
    assert.equal(audience(aud), 'failed', JSON.stringify(aud))
  }
})

test('the scopes check requires a list of strings with its value; a space-separated scope is something else', () => {
  const check = (more: object) => checkScopes({ ...claims, ...more } as JsonObject, rules).verdict
  assert.equal(check({}), 'passed')
  for (const scopes of [['Read'], [], ['read write'], 'read', ['read', 1], { 0: 'read' }, null]) {
    assert.equal(check({ scopes, scope: 'read' }), 'failed', JSON.stringify(scopes))
  }
  const { scopes: _, ...without } = claims
  assert.equal(checkScopes({ ...without, scope: 'read' }, rules).verdict, 'failed')
  assert.equal(checkScopes({ scopes: 'read' }, { ...rules, scope: undefined }).verdict, 'skipped')
})

test('the token type check requires the claim, not the header, to equal its value', () => {
  const check = (token_type: unknown) => checkTokenType({ ...claims, token_type } as JsonObject, rules).verdict
  assert.equal(check('job'), 'passed')
  for (const type of ['Job', ['job'], 1, null, '', undefined]) assert.equal(check(type), 'failed')
  assert.equal(checkTokenType(claims, { ...rules, tokenType: undefined }).verdict, 'skipped')
})

test('what was expected and found is shown as JSON, to show the type, and shortened', () => {
  const [name, tokenType] = ['token_type', '1'] as const
  const failed = { name, verdict: 'failed', expected: '"1"', found: '1' } as const
  assert.deepEqual(stepOf(name, checkTokenType({ token_type: 1 }, { ...rules, tokenType })), failed)
  const subjectStep = (given: JsonObject) => stepOf('subject', checkSubject(given, rules))
  assert.deepEqual(subjectStep({}), { name: 'subject', verdict: 'failed', expected: '"repo:acme/app"' })
  assert.equal(subjectStep({ sub: '\u{1f600}'.repeat(3000) }).found?.length, 1024)
  // Characters that change the direction of text, or are invisible, are escaped.
  assert.equal(subjectStep({ sub: 'a\u202e\u{e0061}\n' }).found, '"a\\u202e\\udb40\\udc61\\n"')
})

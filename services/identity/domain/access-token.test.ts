import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimsOf, type Grant, readClaims } from './access-token.ts'

const NOW = Date.UTC(2026, 0, 1)
const SECONDS = NOW / 1_000
const issuer = 'https://portico.example'

const grant: Grant = {
  subject: 'repo:acme/site:ref:refs/heads/main',
  subjectExpires: SECONDS + 3_600,
  policyId: '7b8f1d7e-0c4a-4d59-9d4b-2f8a3c1e5d60',
  issuerId: 'iss_one',
  target: { workspaceId: 'wrk_one', keyId: 'key_one' },
  keyExpires: undefined,
}

const lifeOf = (more: Partial<Grant>, now = NOW): number | undefined => {
  const claims = claimsOf({ ...grant, ...more }, { issuer, tokenId: 'an id', now })
  return claims && claims.exp - claims.iat
}

test('an access token has the claims of RFC 9068, those of the federation, and its key in a claim of its own', () => {
  assert.deepEqual(claimsOf(grant, { issuer, tokenId: 'an id', now: NOW + 999 }), {
    iss: issuer,
    aud: 'https://portico.example/api/v1',
    sub: grant.subject,
    client_id: grant.policyId,
    exp: SECONDS + 900,
    iat: SECONDS,
    jti: 'an id',
    scope: 'inference',
    federation_policy_id: grant.policyId,
    federation_issuer_id: 'iss_one',
    portico_key: { workspace_id: 'wrk_one', key_id: 'key_one' },
  })
})

test('an access token lives for 900 s, in whole seconds, but never longer than the subject token or the target key', () => {
  assert.equal(lifeOf({}), 900)
  assert.equal(lifeOf({ subjectExpires: SECONDS + 60 }), 60)
  assert.equal(lifeOf({ subjectExpires: SECONDS + 60.9 }), 60)
  assert.equal(lifeOf({ subjectExpires: 2 ** 40 }), 900)
  assert.equal(lifeOf({ keyExpires: NOW + 30_999 }), 30)
  assert.equal(lifeOf({ keyExpires: NOW + 30_000, subjectExpires: SECONDS + 10 }), 10)
})

test('a token that would live for less than a second is not made', () => {
  assert.equal(lifeOf({ subjectExpires: SECONDS + 1 }), 1)
  assert.equal(lifeOf({ subjectExpires: SECONDS + 1 }, NOW + 1), undefined)
  assert.equal(lifeOf({ subjectExpires: SECONDS + 0.9 }), undefined)
  assert.equal(lifeOf({ subjectExpires: SECONDS }), undefined)
  assert.equal(lifeOf({ subjectExpires: Number.NaN }), undefined)
  assert.equal(lifeOf({ keyExpires: NOW + 999 }), undefined)
  assert.equal(lifeOf({ keyExpires: NOW - 1 }), undefined)
})

test('claims are read for this issuer and its audience only, whole or not at all', () => {
  const claims = claimsOf(grant, { issuer, tokenId: 'an id', now: NOW })
  assert.deepEqual(readClaims(claims, issuer), { target: grant.target, expires: SECONDS + 900 })
  const { portico_key: _, ...without } = { ...claims }
  for (const wrong of [
    ...[null, [], 'text', {}, without],
    { ...claims, iss: `${issuer}/` },
    { ...claims, aud: issuer },
    { ...claims, aud: [claims?.aud] },
    { ...claims, exp: undefined },
    { ...claims, exp: '9999999999' },
    { ...claims, exp: 1e308 },
    { ...claims, portico_key: 'key_one' },
    { ...claims, portico_key: { workspace_id: 'wrk_one' } },
    { ...claims, portico_key: { workspace_id: 1, key_id: 'key_one' } },
  ]) {
    assert.equal(readClaims(wrong, issuer), undefined, JSON.stringify(wrong))
  }
})

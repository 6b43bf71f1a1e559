import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  AuditEntrySchema,
  ClaimChecksSchema,
  Organization_Plan as Plan,
} from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { groundWith, NOW, OUR_ISSUER, openExchange, POLICY_ID } from '#test/support/exchange.ts'
import { base64url, newTokenKey, signText, signToken } from '#test/support/subject-tokens.ts'
import { waitFor } from '#test/support/wait-until.ts'

const REFUSED = 'GRANT_REFUSED'

for (const alg of ['ES256', 'RS256'] as const) {
  test(`a token that its policy admits is exchanged, and the audit log has it (${alg})`, async () => {
    await using exchange = openExchange(alg)
    const { token, expiresIn, timeExpires, tokenId } = await exchange.exchange()
    const claims = JSON.parse(token)
    assert.deepEqual([claims.sub, claims.client_id, claims.exp - claims.iat], ['repo:acme/app', POLICY_ID, 300])
    assert.deepEqual([expiresIn, timeExpires], [300, NOW + 300_000])
    const value = {
      ...{ policyId: POLICY_ID, policyRevision: 1, issuerId: 'iss_one', issuerRevision: 1 },
      ...{ workspaceId: 'wrk_one', keyId: 'key_one', subject: 'repo:acme/app', tokenId, expireTime: timeExpires },
      clientNetwork: '192.0.2.1',
    }
    const expected = { organizationId: 'org_one', time: NOW, event: { case: 'exchangeAccepted', value } } as const
    assert.deepEqual(exchange.entries, [create(AuditEntrySchema, expected)])
    assert.deepEqual(exchange.counts, { lookups: 1, verifications: 1, minted: 1, claims: 0 })
  })
}

test('a change during the fetch of the issuer’s keys counts; keys that come late each time are unavailable', async () => {
  await using real = openExchange()
  let late = 0
  let meanwhile = (): void => {}
  await using exchange = openExchange('ES256', {
    steps: {
      refuse: () => real.steps.refuse(),
      async untilFailure(candidate) {
        const evaluation = await real.steps.untilFailure(candidate)
        meanwhile()
        return { ...evaluation, waited: late-- > 0 }
      },
    },
  })
  const token = signToken(exchange.claims(), exchange.key)
  const outcomeAfter = (times: number) => {
    late = times
    return exchange.outcome(token)
  }
  exchange.grounds.set(POLICY_ID, groundWith(exchange.key))
  assert.equal(await outcomeAfter(1), 'accepted')
  assert.equal(exchange.counts.lookups, 2)
  assert.equal(await outcomeAfter(3), 'ISSUER_KEYS_UNAVAILABLE issuer_keys')
  meanwhile = () => exchange.grounds.set(POLICY_ID, groundWith(exchange.key, { policy: { enabled: false } }))
  assert.equal(await outcomeAfter(1), 'GRANT_REFUSED policy')
})

test('a slow store or a busy process does not make the keys of an issuer unavailable', async () => {
  await using real = openExchange()
  await using exchange = openExchange('ES256', {
    steps: {
      refuse: () => real.steps.refuse(),
      untilFailure(candidate) {
        exchange.clock.time += 1_000
        return real.steps.untilFailure(candidate)
      },
    },
    federation: {
      async findPolicy(id) {
        exchange.clock.time += 1_000
        return exchange.grounds.get(id)
      },
    },
  })
  assert.equal(await exchange.outcome(signToken(exchange.claims(), exchange.key)), 'accepted')
})

test('a caller that hangs up before the token is claimed can exchange it later; after that it counts as exchanged', async () => {
  await using exchange = openExchange()
  const { counts, entries } = exchange
  exchange.grounds.set(POLICY_ID, groundWith(exchange.key, { issuer: { singleUse: true } }))
  const token = signToken(exchange.claims({ jti: 'a' }), exchange.key)
  const gone = new AbortController()
  exchange.minting = async () => gone.abort(new Error('they hung up'))
  await assert.rejects(exchange.exchange(token, POLICY_ID, gone.signal), /they hung up/)
  assert.deepEqual([counts.claims, entries], [0, []])
  exchange.minting = async () => {}
  const late = new AbortController()
  exchange.appended = async () => late.abort()
  await exchange.exchange(token, POLICY_ID, late.signal)
  assert.deepEqual([counts.claims, entries.length], [1, 1])
})

test('an access token is returned only after its entry is durable in the audit log', async () => {
  await using exchange = openExchange()
  const { promise, resolve } = Promise.withResolvers<void>()
  exchange.appended = () => promise
  let given = false
  const minted = exchange.exchange().then(() => {
    given = true
  })
  await waitFor('a token', () => exchange.counts.minted === 1)
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  assert.equal(given, false)
  resolve()
  await minted
  exchange.appended = async () => {
    throw new Error('the store is away')
  }
  await assert.rejects(exchange.exchange(), /the store is away/)
})

test('a text that is no JWT is SUBJECT_TOKEN_INVALID before anything is looked up', async () => {
  await using exchange = openExchange()
  for (const token of ['', 'a', 'a.b.c', `${signToken(exchange.claims(), exchange.key)}\n`]) {
    assert.equal(await exchange.outcome(token), 'SUBJECT_TOKEN_INVALID')
  }
  assert.deepEqual(exchange.counts, { lookups: 0, verifications: 0, minted: 0, claims: 0 })
})

test('a signature by another key, by another algorithm or in another form is refused', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  const signed = (header: object, signature: (text: string) => Buffer): string => {
    const text = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(exchange.claims()))}`
    return `${text}.${signature(text).toString('base64url')}`
  }
  const header = { alg: 'ES256', kid: 'k1' }
  const other = newTokenKey('ES256', 'k1')
  const rsa = newTokenKey('RS256', 'k1')
  for (const [token, reason] of [
    [signToken(exchange.claims(), other), 'signature'],
    [signToken(exchange.claims(), rsa), 'signature'],
    [signToken(exchange.claims(), { ...rsa, alg: 'ES256' }), 'signature'],
    [signed(header, (text) => sign('sha256', Buffer.from(text), key.privateKey)), 'signature'],
    [signed(header, () => Buffer.alloc(64)), 'signature'],
    [signed(header, () => Buffer.alloc(64, 0xff)), 'signature'],
    [signed(header, () => Buffer.alloc(63, 1)), 'signature'],
    [signed(header, () => Buffer.alloc(65, 1)), 'signature'],
    [
      signed({ ...header, kid: 'k2' }, (text) =>
        sign('sha256', Buffer.from(text), { key: key.privateKey, dsaEncoding: 'ieee-p1363' }),
      ),
      'signature',
    ],
    [signed({ alg: 'none' }, () => Buffer.alloc(1)), 'header'],
    [signed({ alg: 'none' }, () => Buffer.alloc(0)), 'header'],
    [signed(header, () => Buffer.alloc(0)), 'signature'],
    [
      signed({ alg: 'HS256', kid: 'k1' }, (text) =>
        createHmac('sha256', key.publicKey.export({ format: 'pem', type: 'spki' }))
          .update(text)
          .digest(),
      ),
      'header',
    ],
    [signed({ alg: 'PS256', kid: 'k1' }, () => Buffer.alloc(256, 1)), 'header'],
  ] as const) {
    assert.equal(await exchange.outcome(token), `${REFUSED} ${reason}`)
  }
})

test('a key that comes with the token is never used', async () => {
  await using exchange = openExchange()
  const other = newTokenKey('ES256', 'k1')
  const { kid: _, ...jwk } = other.jwk
  for (const header of [{ jwk }, { jwk, kid: undefined }, { jku: 'https://evil.test/jwks' }, { x5c: ['MII'] }]) {
    assert.equal(await exchange.outcome(signToken(exchange.claims(), other, header)), `${REFUSED} signature`)
    assert.equal(await exchange.outcome(signToken(exchange.claims(), exchange.key, header)), 'accepted')
  }
})

test('a token without kid is verified where one key fits, and refused where several do', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  const token = signToken(exchange.claims(), key, { kid: undefined })
  const withKeys = (...keys: readonly unknown[]) =>
    exchange.grounds.set(
      POLICY_ID,
      groundWith(key, {
        issuer: { keySource: { case: 'jwks', value: JSON.stringify({ keys }) }, revision: keys.length + 1 },
      }),
    )
  assert.equal(await exchange.outcome(token), 'accepted')
  withKeys(key.jwk, newTokenKey('RS256', 'r').jwk)
  assert.equal(await exchange.outcome(token), 'accepted')
  withKeys(key.jwk, newTokenKey('RS256', 'r').jwk, newTokenKey('ES256', 'k2').jwk)
  assert.equal(await exchange.outcome(token), `${REFUSED} signature`)
})

test('tries each of up to 4 keys with the same kid', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  const others = Array.from({ length: 4 }, () => newTokenKey('ES256', 'k1').jwk)
  const withKeys = (...keys: readonly unknown[]) =>
    exchange.grounds.set(
      POLICY_ID,
      groundWith(key, {
        issuer: { keySource: { case: 'jwks', value: JSON.stringify({ keys }) }, revision: keys.length + 1 },
      }),
    )
  withKeys(...others.slice(1), key.jwk)
  assert.equal(await exchange.outcome(), 'accepted')
  withKeys(...others, key.jwk)
  assert.equal(await exchange.outcome(), `${REFUSED} signature`)
})

test('the policy is applied to the claims of a token, and the audit log names the first that does not fit', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  exchange.grounds.set(
    POLICY_ID,
    groundWith(key, {
      policy: {
        condition: 'scopes.exists(s, s == "deploy")',
        checks: create(ClaimChecksSchema, { scope: 'read', tokenType: 'job' }),
      },
      issuer: { maxAgeSeconds: 60 },
    }),
  )
  const good = { scopes: ['read', 'deploy'], token_type: 'job' }
  const outcome = (claims: object) => exchange.outcome(signToken(exchange.claims({ ...good, ...claims }), key))
  assert.equal(await outcome({}), 'accepted')
  for (const [claims, reason] of [
    [{ exp: NOW / 1000 }, 'expiry'],
    [{ iat: NOW / 1000 - 61 }, 'expiry'],
    [{ nbf: NOW / 1000 + 61 }, 'expiry'],
    [{ iss: 'https://issuer.test/' }, 'issuer'],
    [{ iss: OUR_ISSUER }, 'issuer'],
    [{ sub: 'repo:acme/other', aud: 'x' }, 'subject'],
    [{ aud: 'x', scopes: [] }, 'audience'],
    [{ scopes: ['deploy'], token_type: 'x' }, 'scopes'],
    [{ scopes: 'read deploy' }, 'scopes'],
    [{ token_type: undefined }, 'token_type'],
    [{ scopes: ['read'] }, 'condition'],
    [{ exp: NOW / 1000 + 0.5, scopes: ['read'] }, 'condition'],
    [{ exp: NOW / 1000 + 0.5 }, 'lifetime'],
    [{ sub: 'a'.repeat(513) }, 'claims'],
    [{ aud: [OUR_ISSUER, 1] }, 'claims'],
    [{ scopes: Array(17).fill('read') }, 'claims'],
  ] as const) {
    assert.equal(await outcome(claims), `${REFUSED} ${reason}`, JSON.stringify(claims))
  }
})

test('a scopes or token_type claim of the wrong type is refused where a condition looks at it, and only there', async () => {
  await using exchange = openExchange()
  const outcome = (condition: string, claims: object) => {
    exchange.grounds.set(POLICY_ID, groundWith(exchange.key, { policy: { condition } }))
    return exchange.outcome(signToken(exchange.claims(claims), exchange.key))
  }
  for (const scopes of ['read', 1, null, {}, ['read', 1]]) {
    assert.equal(await outcome('scopes.size() < 9', { scopes }), `${REFUSED} condition`)
    assert.equal(await outcome('true || "x" in scopes', { scopes }), `${REFUSED} condition`)
    assert.equal(await outcome('subject != ""', { scopes }), 'accepted')
  }
  for (const token_type of [1, null, ['job']]) {
    assert.equal(await outcome('token_type != "x"', { token_type }), `${REFUSED} condition`)
    assert.equal(await outcome('subject != ""', { token_type }), 'accepted')
  }
  assert.equal(await outcome('scopes.size() == 0 && token_type == ""', {}), 'accepted')
  assert.equal(await outcome('scopes[0] == "read"', {}), `${REFUSED} condition`)
  assert.equal(await outcome('not a condition', {}), `${REFUSED} condition`)
})

test('a paused policy, a lost plan, a deleted issuer and a key that is not in use refuse from the next exchange on', async () => {
  await using exchange = openExchange()
  const ground = groundWith(exchange.key)
  const { key, organization, policy } = ground
  assert.ok(key)
  for (const [changed, reason] of [
    [{ policy: { ...policy, settings: { ...policy.settings, enabled: false } } }, 'policy'],
    [{ organization: { ...organization, plan: Plan.FREE } }, 'plan'],
    [{ issuer: undefined }, 'issuer'],
    [{ key: undefined }, 'key'],
    [{ key: { ...key, disabled: true } }, 'key'],
    [{ key: { ...key, expireTime: NOW } }, 'key'],
    [{ key: { ...key, kind: Kind.MANAGEMENT } }, 'key'],
    [{ key: { ...key, expireTime: NOW + 999 } }, 'lifetime'],
  ] as const) {
    exchange.grounds.set(POLICY_ID, { ...ground, ...changed })
    assert.equal(await exchange.outcome(), `${REFUSED} ${reason}`)
  }
  exchange.grounds.set(POLICY_ID, { ...ground, organization: { ...organization, plan: Plan.BUSINESS } })
  assert.equal(await exchange.outcome(), 'accepted')
  exchange.grounds.delete(POLICY_ID)
  assert.equal(await exchange.outcome(), REFUSED)
})

test('every refusal takes one lookup and one verification, also for an unknown policy', async () => {
  await using exchange = openExchange()
  const { key, counts, grounds } = exchange
  const ground = groundWith(key)
  grounds.set('paused', groundWith(key, { policy: { enabled: false } }))
  grounds.set('orphan', { ...ground, issuer: undefined })
  for (const [token, policyId] of [
    [undefined, 'unknown'],
    [undefined, 'paused'],
    [undefined, 'orphan'],
    [signToken(exchange.claims(), key, { alg: 'none' }), POLICY_ID],
    [signToken(exchange.claims({ iss: 'https://other.test' }), key), POLICY_ID],
    [signToken(exchange.claims({ sub: 'a'.repeat(600) }), key), POLICY_ID],
    [signToken(exchange.claims(), key, { kid: 'other' }), POLICY_ID],
    [signToken(exchange.claims(), newTokenKey('ES256', 'k1')), POLICY_ID],
    [signToken(exchange.claims({ exp: 1 }), key), POLICY_ID],
    [signToken(exchange.claims({ sub: 'other' }), key), POLICY_ID],
  ] as const) {
    Object.assign(counts, { lookups: 0, verifications: 0, minted: 0, claims: 0 })
    assert.match(await exchange.outcome(token, policyId), /^GRANT_REFUSED/)
    assert.deepEqual(counts, { lookups: 1, verifications: 1, minted: 0, claims: 0 })
  }
})

test('keys that cannot be fetched are ISSUER_KEYS_UNAVAILABLE only if the token is not refused for another reason', async () => {
  await using exchange = openExchange()
  exchange.unavailable = true
  assert.equal(await exchange.outcome(), 'ISSUER_KEYS_UNAVAILABLE issuer_keys')
  await assert.rejects(exchange.exchange(), { metadata: { retry_after: '7' } })
  for (const [claims, reason] of [
    [{ exp: 1 }, 'expiry'],
    [{ sub: 'other' }, 'subject'],
    [{ iss: 'https://other.test' }, 'issuer'],
  ] as const) {
    assert.equal(await exchange.outcome(signToken(exchange.claims(claims), exchange.key)), `${REFUSED} ${reason}`)
  }
})

test('a token of one organization is never accepted for the policy of another, whatever is combined', async () => {
  await using exchange = openExchange()
  const other = newTokenKey('ES256', 'k1')
  const second = groundWith(other, { organizationId: 'org_two', policy: { policyId: 'second' } })
  exchange.grounds.set('second', second)
  const [ours, theirs] = [signToken(exchange.claims(), exchange.key), signToken(exchange.claims(), other)]
  assert.equal(await exchange.outcome(ours), 'accepted')
  assert.equal(await exchange.outcome(theirs, 'second'), 'accepted')
  assert.equal(await exchange.outcome(ours, 'second'), `${REFUSED} signature`)
  assert.equal(await exchange.outcome(theirs), `${REFUSED} signature`)
})

test('single_use claims a jti after all checks, and refuses its second exchange', async () => {
  await using exchange = openExchange()
  const { key, counts } = exchange
  exchange.grounds.set(POLICY_ID, groundWith(key, { issuer: { singleUse: true } }))
  const outcome = (claims: object) => exchange.outcome(signToken(exchange.claims(claims), key))
  for (const jti of [undefined, '', 1, null, ['a']]) assert.equal(await outcome({ jti }), `${REFUSED} single_use`)
  assert.equal(await outcome({ jti: 'a', sub: 'other' }), `${REFUSED} subject`)
  assert.equal(counts.claims, 0)
  assert.equal(await outcome({ jti: 'a' }), 'accepted')
  assert.equal(await outcome({ jti: 'a' }), `${REFUSED} single_use`)
  assert.equal(await outcome({ jti: 'a', iat: NOW / 1000 - 1 }), `${REFUSED} single_use`)
  assert.equal(await outcome({ jti: 'b' }), 'accepted')
  const at = exchange.entries.at(-2)?.event
  assert.equal(at?.case === 'exchangeRefused' && at.value.found, '"a"')
})

test('a token of an issuer with single_use can be exchanged again if its audit entry could not be written', async () => {
  await using exchange = openExchange()
  exchange.grounds.set(POLICY_ID, groundWith(exchange.key, { issuer: { singleUse: true } }))
  const token = signToken(exchange.claims({ jti: 'a' }), exchange.key)
  exchange.appended = () => Promise.reject(new Error('the disk is full'))
  await assert.rejects(exchange.exchange(token), /the disk is full/)
  exchange.appended = async () => {}
  assert.equal(await exchange.outcome(token), 'accepted')
})

test('the audit log shows whose exchange was refused: the key of the policy, and the subject once the signature was verified', async () => {
  await using exchange = openExchange()
  const { key, entries } = exchange
  const { keyId } = groundWith(key).policy.settings
  const refusalOf = async (token: string) => {
    await exchange.outcome(token)
    const event = entries.at(-1)?.event
    if (event?.case !== 'exchangeRefused') return 'no refusal'
    return [event.value.reason, event.value.subject, event.value.keyId]
  }
  const other = newTokenKey('ES256', 'k1')
  const fork = { sub: 'repo:acme/fork' }
  assert.deepEqual(await refusalOf(signToken(exchange.claims(fork), key)), ['subject', fork.sub, keyId])
  assert.deepEqual(await refusalOf(signToken(exchange.claims({ exp: 1 }), key)), ['expiry', 'repo:acme/app', keyId])
  assert.deepEqual(await refusalOf(signToken(exchange.claims(fork), other)), ['signature', undefined, keyId])
  assert.deepEqual(await refusalOf(signToken(exchange.claims({ aud: 1 }), key)), ['claims', undefined, keyId])
  exchange.unavailable = true
  assert.deepEqual(await refusalOf(signToken(exchange.claims(), key)), ['issuer_keys', undefined, keyId])
})

test('the audit log shows that a policy or an issuer was deleted, and the refusal takes the same steps', async () => {
  const deleted = { deleted: true, organizationId: 'org_1', issuerId: 'iss_1', keyId: 'key_1' } as const
  await using exchange = openExchange('ES256', { federation: { findPolicy: async () => deleted } })
  assert.equal(await exchange.outcome(), `${REFUSED} policy`)
  assert.equal(exchange.counts.verifications, 1)
  const [entry] = exchange.entries
  const refused = { policyId: POLICY_ID, issuerId: 'iss_1', keyId: 'key_1', reason: 'policy' }
  const value = { ...refused, found: 'deleted', clientNetwork: '192.0.2.1' }
  const expected = { organizationId: 'org_1', time: NOW, event: { case: 'exchangeRefused', value } } as const
  assert.deepEqual(entry, create(AuditEntrySchema, expected))
  await using other = openExchange()
  other.grounds.set(POLICY_ID, { ...groundWith(other.key), issuer: undefined })
  assert.equal(await other.outcome(), `${REFUSED} issuer`)
  const [without] = other.entries
  assert.ok(without?.event.case === 'exchangeRefused')
  assert.deepEqual([without.event.value.found, without.event.value.issuerId], ['deleted', undefined])
})

test('the audit log shows a claim as found only once the signature was verified', async () => {
  await using exchange = openExchange()
  const found = async (token: string) => {
    await exchange.outcome(token)
    const event = exchange.entries.at(-1)?.event
    return event?.case === 'exchangeRefused' ? event.value.found : 'no refusal'
  }
  const { key } = exchange
  assert.equal(await found(signToken(exchange.claims({ sub: 'repo:acme/fork' }), key)), '"repo:acme/fork"')
  assert.equal(await found(signToken(exchange.claims({ sub: 'x' }), newTokenKey('ES256', 'k1'))), undefined)
  assert.equal(await found(signToken(exchange.claims({ iss: 'https://evil.test' }), key)), undefined)
  // Our own words contain nothing of the token.
  assert.equal(
    await found(signToken(exchange.claims({ sub: ['x'] }), newTokenKey('ES256', 'k1'))),
    'sub is not a string',
  )
  const asking = (condition: string) => exchange.grounds.set(POLICY_ID, groundWith(key, { policy: { condition } }))
  asking('"deploy" in scopes')
  const scopes = 'scopes is "deploy", not a list of strings'
  assert.equal(await found(signToken(exchange.claims({ scopes: 'deploy' }), key)), scopes)
  asking('token_type == "job"')
  assert.equal(await found(signToken(exchange.claims({ token_type: 1 }), key)), 'token_type is 1, not a string')
  exchange.grounds.set(POLICY_ID, groundWith(key, { policy: { enabled: false } }))
  assert.equal(await found(signToken(exchange.claims(), key)), 'paused')
  exchange.grounds.set(POLICY_ID, groundWith(key))
  exchange.unavailable = true
  assert.equal(await found(signToken(exchange.claims({ sub: 'x' }), key)), undefined)
})

test('hostile kids match no key and reach no entry of the audit log', async () => {
  await using exchange = openExchange()
  for (const kid of ['../k1', "' OR 1=1 --", '__proto__', 'constructor', 'k'.repeat(8000)]) {
    assert.equal(await exchange.outcome(signToken(exchange.claims(), exchange.key, { kid })), `${REFUSED} signature`)
    assert.ok(!JSON.stringify(exchange.entries).includes(kid))
  }
})

test('a token with duplicate members is SUBJECT_TOKEN_INVALID', async () => {
  await using exchange = openExchange()
  const claims = JSON.stringify(exchange.claims())
  const twice = signText('{"alg":"ES256","kid":"k1"}', claims.replace('{', '{"sub":"x",'), exchange.key)
  assert.equal(await exchange.outcome(twice), 'SUBJECT_TOKEN_INVALID')
  const escaped = signText('{"alg":"ES256","kid":"k1"}', claims.replace('{', '{"\\u0073ub":"x",'), exchange.key)
  assert.equal(await exchange.outcome(escaped), 'SUBJECT_TOKEN_INVALID')
})

test('an elliptic curve other than P-256 signs nothing', async () => {
  await using exchange = openExchange()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  const token = signToken(exchange.claims(), { ...exchange.key, privateKey })
  assert.equal(await exchange.outcome(token), `${REFUSED} signature`)
})

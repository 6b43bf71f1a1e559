import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { reasonOf } from '#shared/reasons.ts'
import { grantAt, ISSUER, mintNow, openSigningStore } from '#test/support/signing.ts'
import { silentLogger } from '#test/support/transports.ts'
import { AccessTokens } from './access-tokens.ts'

const TARGET = { workspaceId: 'wrk_one', keyId: 'key_one' }

const partsOf = (token: string) => token.split('.') as [string, string, string]
const jsonOf = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a token has the type at+jwt, is signed with ES256, and can be verified with the published key set', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const minted = await replica.tokens.mint(grantAt(signing.clock.time))
  const [header, payload, signature] = partsOf(minted?.token ?? '')
  const [key] = await replica.ring.published()
  assert.deepEqual(jsonOf(header), { typ: 'at+jwt', alg: 'ES256', kid: key?.kid })
  const claims = jsonOf(payload)
  assert.deepEqual([claims.iss, claims.aud, claims.sub], [ISSUER, `${ISSUER}/api/v1`, 'a workload'])
  assert.deepEqual([claims.jti, claims.exp - claims.iat], [minted?.tokenId, minted?.expiresIn])
  assert.equal(minted?.timeExpires, claims.exp * 1_000)
  const jwk = { kty: 'EC', crv: 'P-256', x: key?.x ?? '', y: key?.y ?? '' }
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  const bytes = Buffer.from(signature, 'base64url')
  assert.ok(verify('sha256', Buffer.from(`${header}.${payload}`), { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes))
})

test('jose verifies a token with the published key set, as RFC 9068 requires', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  await replica.ring.rotate()
  const keys = (await replica.ring.published()).map(({ kid, x, y }) => {
    return { kty: 'EC', crv: 'P-256', kid, x, y, alg: 'ES256', use: 'sig' }
  })
  const token = await mintNow(signing, replica)
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys }), {
    ...{ algorithms: ['ES256'], typ: 'at+jwt', issuer: ISSUER, audience: `${ISSUER}/api/v1` },
    ...{ requiredClaims: ['exp', 'sub', 'client_id', 'iat', 'jti'], currentDate: new Date(signing.clock.time) },
  })
  assert.deepEqual([protectedHeader.kid, payload.client_id, payload.scope], [keys[0]?.kid, 'a policy', 'inference'])
})

test('each token has an id of its own', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const ids = await Promise.all(
    Array.from({ length: 50 }, async () => jsonOf(partsOf(await mintNow(signing, replica))[1]).jti),
  )
  assert.equal(new Set(ids).size, 50)
})

test('a token is valid until it expires, at every replica, and then nowhere', async () => {
  await using signing = await openSigningStore()
  const [one, two] = [await signing.replica(), await signing.replica()]
  const token = await mintNow(signing, one)
  for (const { tokens } of [one, two, one]) assert.deepEqual(await tokens.verify(token), TARGET)
  signing.clock.time += 899_999
  for (const { tokens } of [one, two]) assert.deepEqual(await tokens.verify(token), TARGET)
  signing.clock.time += 1
  for (const { tokens } of [one, two, await signing.replica()]) assert.equal(await tokens.verify(token), 'expired')
})

test('a token that was made while the clock was ahead is invalid once the clock is right', async () => {
  await using signing = await openSigningStore()
  const [one, two] = [await signing.replica(), await signing.replica()]
  signing.clock.time += 3_600_000
  const token = await mintNow(signing, one)
  assert.deepEqual(await one.tokens.verify(token), TARGET)
  signing.clock.time -= 3_600_000
  for (const { tokens } of [one, two]) assert.equal(await tokens.verify(token), undefined)
})

test('a text that differs from a token in anything is refused without reading the store', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const token = await mintNow(signing, replica)
  const [header, payload, signature] = partsOf(token)
  const signWith = (key: Parameters<typeof sign>[2], text: string) => sign('sha256', Buffer.from(text), key)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { publicKey: rsa, privateKey: rsaPrivate } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const forged = signWith({ key: privateKey, dsaEncoding: 'ieee-p1363' }, `${header}.${payload}`)
  const der = signWith({ key: privateKey, dsaEncoding: 'der' }, `${header}.${payload}`)
  const other = { ...jsonOf(header) }
  const before = signing.reads.count
  const last = signature.slice(0, -1)
  const similar = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].map((letter) => last + letter)
  for (const wrong of [
    ...['', '.', '..', header, `${header}.${payload}`, `${header}.${payload}.`, `${token}.`, `${token}.${signature}`],
    ...[
      ` ${token}`,
      `${token}\n`,
      `${token}=`,
      token.toUpperCase(),
      `${token}A`,
      token.slice(0, -1),
      'x'.repeat(100_000),
    ],
    ...similar.filter((text) => text !== signature).map((text) => `${header}.${payload}.${text}`),
    `${header}.${payload}.${forged.toString('base64url')}`,
    `${header}.${payload}.${der.toString('base64url')}`,
    `${header}.${encode({ ...jsonOf(payload), sub: 'another' })}.${signature}`,
    ...[
      { ...other, alg: 'none' },
      { ...other, alg: 'HS256' },
      { ...other, typ: 'JWT' },
      { ...other, kid: undefined },
      { ...other, kid: 1 },
      { ...other, kid: '../../etc/passwd' },
      { ...other, jwk: rsa.export({ format: 'jwk' }) },
      { ...other, jku: 'https://elsewhere.example/keys' },
      { ...other, crit: ['exp'], exp: 1 },
      { alg: 'ES256', typ: 'at+jwt', kid: other.kid },
    ].map((changed) => `${encode(changed)}.${payload}.${signature}`),
    `${encode({ ...other, alg: 'RS256' })}.${payload}.${signWith(rsaPrivate, `${header}.${payload}`).toString('base64url')}`,
  ]) {
    assert.equal(await replica.tokens.verify(wrong), undefined, wrong.slice(0, 300))
  }
  assert.equal(signing.reads.count, before)
  assert.deepEqual(await replica.tokens.verify(token), TARGET)
})

test('a key that this process does not know is looked up once for all concurrent callers', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const [, payload, signature] = partsOf(await mintNow(signing, replica))
  const before = signing.reads.count
  const unknown = Array.from({ length: 20 }, (_, index) => {
    const kid = `sig_${String(index).padStart(24, '0')}`
    return replica.tokens.verify(`${encode({ typ: 'at+jwt', alg: 'ES256', kid })}.${payload}.${signature}`)
  })
  assert.deepEqual(new Set(await Promise.all(unknown)), new Set([undefined]))
  // One read is in progress, and the others share the next.
  assert.equal(signing.reads.count - before, 2)
})

test('a token of another issuer is invalid here, even with the same key', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const { ring } = replica
  const elsewhere = new AccessTokens({
    signatures: new JoseSignatures(),
    ring,
    issuer: 'https://other.example',
    clock: signing.clock,
  })
  const token = await mintNow(signing, { tokens: elsewhere })
  assert.equal(await replica.tokens.verify(token), undefined)
  assert.deepEqual(await elsewhere.verify(token), TARGET)
})

test('signatures are remembered within a bound, and what was forgotten is verified anew', async () => {
  await using signing = await openSigningStore()
  const { ring } = await signing.replica()
  const tokens = new AccessTokens({
    signatures: new JoseSignatures(),
    ring,
    issuer: ISSUER,
    clock: signing.clock,
    mostRemembered: 10,
  })
  const all: string[] = []
  for (let index = 0; index < 25; index++) all.push(await mintNow(signing, { tokens }))
  for (const token of [...all, ...all]) assert.deepEqual(await tokens.verify(token), TARGET)
  assert.equal(tokens.remembered, 10)
})

test('a token that would live for less than a second is not made', async () => {
  await using signing = await openSigningStore()
  const { tokens } = await signing.replica()
  const now = signing.clock.time
  assert.equal(await tokens.mint(grantAt(now, { subjectExpires: now / 1_000 })), undefined)
})

test('a process without a key to encrypt with signs nothing, logs why, and knows the tokens of those that do', async () => {
  await using signing = await openSigningStore()
  const errors: string[] = []
  const logger = Object.assign(Object.create(silentLogger), { error: (text: string) => errors.push(text) })
  const without = await signing.replica([], logger)
  const refused = async () => {
    const error: unknown = await without.tokens.mint(grantAt(signing.clock.time)).catch((thrown: unknown) => thrown)
    return error instanceof Error && 'reason' in error ? error.reason : reasonOf(error)?.reason
  }
  assert.equal(await refused(), 'SIGNING_UNAVAILABLE')
  assert.deepEqual(errors, ['PORTICO_KEY_ENCRYPTION_KEY is not set: no access tokens are issued'])
  const token = await mintNow(signing, await signing.replica())
  assert.deepEqual(await without.tokens.verify(token), TARGET)
  assert.equal(await refused(), 'SIGNING_UNAVAILABLE')
})

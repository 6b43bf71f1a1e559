import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ClaimChecksSchema, ExchangeStep_Verdict as Result } from '#gen/portico/identity/v1/federation_pb.js'
import { CelConditions } from '#services/identity/adapters/cel/cel-conditions.ts'
import { FetchedIssuerKeys } from '#services/identity/adapters/issuer-keys/fetched-issuer-keys.ts'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { readSubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { STEP_NAMES } from '#services/identity/domain/subject-token/step.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import { groundWith, NOW, OUR_ISSUER, openExchange, POLICY_ID, type TestExchange } from '#test/support/exchange.ts'
import { randomOf } from '#test/support/generated-conditions.ts'
import { json, startIssuer } from '#test/support/https-issuer.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ExchangeSteps } from './exchange-steps.ts'

const candidateOf = (exchange: TestExchange, text: string, ground = exchange.grounds.get(POLICY_ID)) => {
  const read = readSubjectToken(text)
  assert.ok('token' in read && ground !== undefined)
  return { token: read.token, ground, now: exchange.clock.time }
}

test('the steps are all those of an exchange, in order, with what was expected and found', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  const ground = groundWith(key, {
    policy: {
      condition: 'subject.endsWith("/app")',
      checks: create(ClaimChecksSchema, { scope: 'read' }),
      enabled: false,
    },
  })
  const token = signToken(exchange.claims({ sub: 'repo:acme/fork', scopes: ['write'] }), key)
  const { steps, failed, verified } = await exchange.steps.all(candidateOf(exchange, token, ground))
  assert.deepEqual(['form', ...steps.map(({ name }) => name)], [...STEP_NAMES])
  assert.equal(verified, true)
  assert.equal(failed?.name, 'policy')
  const shown = Object.fromEntries(steps.map(({ $typeName: _, name, ...rest }) => [name, rest]))
  const skipped = { verdict: Result.SKIPPED }
  assert.deepEqual(shown, {
    policy: { verdict: Result.FAILED, expected: 'enabled', found: 'paused' },
    plan: { verdict: Result.PASSED, expected: 'business or enterprise', found: 'enterprise' },
    key: { verdict: Result.PASSED, expected: 'a workspace key in use', found: 'in use' },
    header: {
      verdict: Result.PASSED,
      expected: 'alg ES256 or RS256, kid a string or absent, neither crit nor b64',
      found: '{"alg":"ES256","kid":"k1","typ":"JWT"}',
    },
    claims: shown.claims,
    issuer: { verdict: Result.PASSED, expected: '"https://issuer.test"', found: '"https://issuer.test"' },
    signature: {
      verdict: Result.PASSED,
      expected: 'a signature by a key of https://issuer.test',
      found: 'a valid signature',
    },
    expiry: shown.expiry,
    subject: { verdict: Result.FAILED, expected: '"repo:acme/app"', found: '"repo:acme/fork"' },
    audience: { verdict: Result.PASSED, expected: `"${OUR_ISSUER}"`, found: `"${OUR_ISSUER}"` },
    scopes: { verdict: Result.FAILED, expected: 'a list with "read"', found: '["write"]' },
    token_type: skipped,
    condition: {
      verdict: Result.FAILED,
      expected: 'subject.endsWith("/app")',
      found: `false for {"subject":"repo:acme/fork","audience":["${OUR_ISSUER}"],"scopes":["write"],"token_type":""}`,
    },
    lifetime: {
      verdict: Result.PASSED,
      expected: 'at least 1 second left of the token and of the key',
      found: '300 seconds',
    },
    single_use: skipped,
  })
})

test('no step shows the signature, and a rehearsal claims, mints and records nothing', async () => {
  await using exchange = openExchange()
  exchange.grounds.set(POLICY_ID, groundWith(exchange.key, { issuer: { singleUse: true } }))
  const token = signToken(exchange.claims({ jti: 'a' }), exchange.key)
  const { steps, failed } = await exchange.steps.all(candidateOf(exchange, token))
  assert.equal(failed, undefined)
  const [, payload = '', signature = ''] = token.split('.')
  for (const part of [signature, payload]) assert.ok(!JSON.stringify(steps).includes(part))
  assert.deepEqual([exchange.counts.claims, exchange.counts.minted, exchange.entries], [0, 0, []])
  assert.equal(await exchange.outcome(token), 'accepted')
})

test('steps that lack what they need are skipped', async () => {
  await using exchange = openExchange()
  const { key } = exchange
  const verdictsOf = async (text: string, ground: ExchangeGround = groundWith(key)) => {
    const { steps } = await exchange.steps.all(candidateOf(exchange, text, ground))
    return Object.fromEntries(steps.map(({ name, verdict }) => [name, verdict]))
  }
  const none = await verdictsOf(signToken(exchange.claims(), key, { alg: 'none' }))
  assert.deepEqual([none.header, none.signature, none.subject], [Result.FAILED, Result.SKIPPED, Result.PASSED])
  const orphan = await verdictsOf(signToken(exchange.claims(), key), { ...groundWith(key), issuer: undefined })
  assert.deepEqual([orphan.issuer, orphan.signature, orphan.expiry], [Result.FAILED, Result.SKIPPED, Result.PASSED])
  const timeless = await verdictsOf(signToken(exchange.claims({ exp: 'x', aud: 1 }), key))
  assert.deepEqual(
    [timeless.claims, timeless.expiry, timeless.lifetime],
    [Result.FAILED, Result.FAILED, Result.SKIPPED],
  )
})

/** Claims and headers to draw from, most of which are valid. */
const DRAWN = {
  iss: ['https://issuer.test', 'https://issuer.test', 'https://issuer.test', 'https://issuer.test/', 1, undefined],
  sub: ['repo:acme/app', 'repo:acme/app', 'repo:acme/app', 'x', '', 1, 'a'.repeat(513), undefined],
  aud: [OUR_ISSUER, OUR_ISSUER, [OUR_ISSUER, 'x'], ['x'], [], 1, [OUR_ISSUER, 1], undefined],
  exp: [300, 300, 300, 1, 0.5, 0, -1, '300', 2 ** 40, undefined],
  iat: [0, 0, -30, -61, 60, 61, 301, 'x', undefined],
  nbf: [0, undefined, undefined, 60, 61, null],
  scopes: [['read'], ['read', 'write'], undefined, 'read', ['x'], Array(17).fill('read'), [1]],
  token_type: ['job', 'job', undefined, 1, 'x'],
  jti: ['a', 'b', undefined, '', 1],
} as const
const HEADERS = [{}, {}, {}, {}, { alg: 'none' }, { kid: 'x' }, { kid: undefined }, { kid: 1 }, { crit: ['exp'] }]

test('a rehearsal and an exchange come to the same verdict on 1,000 mutated tokens', async () => {
  await using exchange = openExchange()
  const { key, clock } = exchange
  const random = randomOf(7)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const other = newTokenKey('ES256', 'k1')
  const outcomes = new Map<string, number>()
  const seen = new Set<unknown>()
  for (let round = 0; round < 1000; round += 1) {
    // Each has its own minute, in which refusals are written one by one.
    clock.time += 60_000
    const settings = {
      policy: {
        enabled: random() < 0.95,
        subject: pick(['repo:acme/app', undefined]),
        condition: pick([undefined, 'subject.startsWith("repo:")', '"read" in scopes', 'scopes[1] == "write"']),
        checks: create(ClaimChecksSchema, {
          scope: pick([undefined, undefined, 'read']),
          tokenType: pick([undefined, undefined, 'job']),
        }),
      },
      issuer: { singleUse: random() < 0.3, maxAgeSeconds: pick([undefined, undefined, 60]) },
    }
    exchange.grounds.set(POLICY_ID, groundWith(key, settings))
    exchange.unavailable = random() < 0.05
    const mutated = Object.fromEntries(
      Object.entries(DRAWN).map(([name, values]) => {
        const value = random() < 0.75 ? values[0] : pick<unknown>(values)
        const isTime = ['exp', 'iat', 'nbf'].includes(name) && typeof value === 'number' && value < 2 ** 40
        return [name, isTime ? clock.time / 1000 + value : value]
      }),
    )
    const token = signToken(mutated, random() < 0.95 ? key : other, pick(HEADERS))
    const rehearsed = await exchange.steps.all(candidateOf(exchange, token))
    const outcome = await exchange.outcome(token)
    // In a rehearsal, a failed fetch is also undecided; the other failures are those that an exchange records.
    const others = rehearsed.steps.filter(({ name }) => !rehearsed.unavailable || name !== 'signature')
    const failed = others.find(({ verdict }) => verdict === Result.FAILED)
    const used = settings.issuer.singleUse && seen.has(mutated.jti)
    const open = rehearsed.unavailable ? 'ISSUER_KEYS_UNAVAILABLE issuer_keys' : 'accepted'
    const expected = failed
      ? `GRANT_REFUSED ${failed.name}`
      : used && open === 'accepted'
        ? 'GRANT_REFUSED single_use'
        : open
    assert.equal(outcome, expected, JSON.stringify({ mutated, settings }))
    if (outcome === 'accepted' && settings.issuer.singleUse) seen.add(mutated.jti)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  assert.ok((outcomes.get('accepted') ?? 0) > 20, JSON.stringify([...outcomes]))
  assert.ok(outcomes.size > 12, JSON.stringify([...outcomes]))
})

test('while 200 fetches hang, known keys serve at once, and unknown ones are unavailable in time', async () => {
  await using server = await startIssuer()
  let isDown = false
  server.answer = (_path, response) => !isDown && json(response, { keys: [exchange.key.jwk] })
  const clock = { time: NOW, now: () => NOW, monotonic: () => clock.time }
  await using keys = new FetchedIssuerKeys({
    ...{ clock, logger: silentLogger, health: { record: async () => {} }, ownOrigin: OUR_ISSUER },
    ...{ networks: [server.network], limits: { patience: { unknownMs: 1_000, knownMs: 50 } } },
  })
  const rest = { signatures: new JoseSignatures(), conditions: new CelConditions(), ownIssuer: OUR_ISSUER }
  await using exchange = openExchange('ES256', { steps: new ExchangeSteps({ keys, ...rest }) })
  const exchangeBy = (id: string) => {
    const issuer = { issuerId: id, keySource: { case: 'jwksUrl', value: `${server.url}/${id}` } } as const
    exchange.grounds.set(id, groundWith(exchange.key, { policy: { policyId: id, issuerId: id }, issuer }))
    return exchange.exchange(undefined, id)
  }
  await exchangeBy('known')
  // The policy is read again, since the first read was before the keys came.
  assert.deepEqual(exchange.counts, { lookups: 2, verifications: 0, minted: 1, claims: 0 })
  isDown = true
  // No longer fresh.
  clock.time += 600_000
  let ended = 0
  const waiting = Array.from({ length: 200 }, (_, i) => exchangeBy(`hangs_${i}`).finally(() => ended++))
  const hanging = Promise.allSettled(waiting)
  await exchangeBy('known')
  assert.deepEqual([exchange.counts.lookups, ended], [203, 0])
  for (const result of await hanging) {
    assert.ok(result.status === 'rejected')
    assert.deepEqual([result.reason.reason, result.reason.metadata], ['ISSUER_KEYS_UNAVAILABLE', { retry_after: '1' }])
  }
})

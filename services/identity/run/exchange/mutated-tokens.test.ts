import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { OUR_ISSUER, openExchange } from '#test/support/exchange.ts'
import { isGood, TokenMutator } from '#test/support/mutated-tokens.ts'

/** How many tokens; together with mutated-forms.test.ts there are 8,000, and 1,000,000 in `npm run soak:tokens`. */
const TOKENS = Number(process.env.PORTICO_TEST_RUNS ?? '5000')
/** Their algorithms; an RSA signature takes ten times as long. */
const SHARES = { ES256: 0.95, RS256: 0.05 } as const
const SEED = Number(process.env.PORTICO_TEST_SEED ?? '1')
/** How many bytes of memory may be retained after the first fifth. */
const GROWTH = 16_000_000

for (const alg of ['ES256', 'RS256'] as const) {
  test(`no mutated token is accepted that another verifier does not accept, and none fails in another way (${alg})`, async () => {
    await using exchange = openExchange(alg)
    const { key, clock } = exchange
    const mutator = new TokenMutator(SEED, key)
    const results = new Map<string, number>()
    let kept = 0
    const rounds = TOKENS * SHARES[alg]
    for (let round = 0; round < rounds; round += 1) {
      // Only a limited number of refusals per minute is written one by one.
      clock.time += 1000
      const token = mutator.mutate(exchange.claims())
      const result = await resultOf(exchange.exchange(token))
      results.set(result, (results.get(result) ?? 0) + 1)
      if (result === 'accepted') {
        const demands = { issuer: 'https://issuer.test', subject: 'repo:acme/app', audience: OUR_ISSUER }
        const { publicKey, kid } = key
        assert.ok(isGood(token, { ...demands, publicKey, alg, kid, now: clock.time / 1000 }), token)
      }
      exchange.entries.length = 0
      if (round === Math.floor(rounds / 5)) kept = memory()
    }
    assert.deepEqual([...results.keys()].sort(), ['GRANT_REFUSED', 'SUBJECT_TOKEN_INVALID', 'accepted'])
    for (const [result, count] of results) assert.ok(count > rounds / 20, `${result}: ${count}`)
    if (global.gc !== undefined) assert.ok(memory() - kept < GROWTH, `${memory() - kept} bytes more`)
  })
}

async function resultOf(exchanged: Promise<unknown>): Promise<string> {
  try {
    await exchanged
    return 'accepted'
  } catch (error) {
    if (error instanceof Rejection) return error.reason
    throw error
  }
}

function memory(): number {
  global.gc?.()
  return process.memoryUsage().heapUsed
}

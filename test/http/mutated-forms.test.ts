// Forms at the token endpoint, in front of a real exchange. `npm run soak:tokens` tries many more; PORTICO_TEST_RUNS
// sets their number.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code } from '@connectrpc/connect'
import type { ExchangeTokenRequest } from '#gen/portico/identity/v1/federation_service_pb.js'
import { OUR_ISSUER, openExchange, POLICY_ID } from '#test/support/exchange.ts'
import { openFacade } from '#test/support/facade.ts'
import { FormMutator, tokenIn } from '#test/support/mutated-forms.ts'
import { isGood, TokenMutator } from '#test/support/mutated-tokens.ts'
import { signToken } from '#test/support/subject-tokens.ts'
import { postToken } from '#test/support/token-form.ts'

const FORMS = Number(process.env.PORTICO_TEST_RUNS ?? '3000')
const SEED = Number(process.env.PORTICO_TEST_SEED ?? '1')
/** How many are sent concurrently. */
const BATCH = 16
/** How many forms carry a mutated token. */
const SHARE = 0.2
/** How much more memory may be held than after the first fifth, in bytes. */
const GROWTH = 16_000_000
const ERRORS = ['invalid_request', 'invalid_grant', 'invalid_scope', 'unsupported_grant_type']

test('no mutated form is accepted that another reader does not accept, and each other one is refused in the form of OAuth', async () => {
  await using exchange = openExchange()
  const { key, clock } = exchange
  const federation = {
    async exchangeToken({ federationPolicyId, subjectToken }: ExchangeTokenRequest) {
      const { token, expiresIn } = await exchange.exchange(subjectToken, federationPolicyId)
      return { accessToken: token, expiresInSeconds: expiresIn }
    },
  }
  const reason = { code: Code.PermissionDenied, message: 'M' }
  const reasons = { GRANT_REFUSED: reason, SUBJECT_TOKEN_INVALID: reason }
  await using facade = await openFacade({ federation, reasons }, { PORTICO_EXCHANGES_PER_MINUTE: '1000000' })
  const [forms, tokens] = [new FormMutator(SEED), new TokenMutator(SEED, key)]
  const results = new Map<string, number>()
  const demands = { issuer: 'https://issuer.test', subject: 'repo:acme/app', audience: OUR_ISSUER }
  let kept = 0
  for (let sent = 0; sent < FORMS; sent += BATCH) {
    if (kept === 0 && sent >= FORMS / 5) kept = memory()
    // Only a limited number of refusals a minute is written one by one.
    clock.time += 60_000
    exchange.entries.length = 0
    // The test keeps the facade's log lines, which do not count as memory of the facade.
    facade.log.length = 0
    const good = exchange.claims()
    const bodies = Array.from({ length: BATCH }, (_, at) => {
      const token = at < BATCH * SHARE ? tokens.mutate(good) : signToken(good, key)
      return forms.mutate(token, POLICY_ID)
    })
    const answers = await Promise.all(bodies.map((body) => postToken(facade.url, body)))
    for (const [at, { status, text }] of answers.entries()) {
      const body = bodies[at] ?? ''
      const { error = 'accepted' } = JSON.parse(text)
      results.set(error, (results.get(error) ?? 0) + 1)
      if (error !== 'accepted') {
        assert.ok(ERRORS.includes(error) && (status === 400 || status === 413), `${status} ${text} for ${body}`)
        continue
      }
      const token = tokenIn(body, POLICY_ID)
      assert.ok(token !== undefined, body)
      const { publicKey, kid } = key
      assert.ok(isGood(token, { ...demands, publicKey, alg: 'ES256', kid, now: clock.time / 1000 }), body)
    }
  }
  assert.deepEqual([...results.keys()].sort(), ['accepted', ...ERRORS].sort())
  for (const [result, count] of results) assert.ok(count > FORMS / 200, `${result}: ${count}`)
  if (global.gc !== undefined) assert.ok(memory() - kept < GROWTH, `${memory() - kept} bytes more`)
})

function memory(): number {
  global.gc?.()
  return process.memoryUsage().heapUsed
}

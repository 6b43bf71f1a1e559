import assert from 'node:assert/strict'
import { test } from 'node:test'
import { celEnv, isCelError, parse, plan } from '@bufbuild/cel'
import { ConditionWriter } from '#test/support/generated-conditions.ts'
import { CelConditions } from './cel-conditions.ts'

/** How many accepted conditions are compared; `npm run soak:conditions` compares 100,000. */
const CONDITIONS = Number(process.env.PORTICO_TEST_RUNS ?? '3000')
const SEED = Number(process.env.PORTICO_TEST_SEED ?? '1')

test('an accepted condition gives the same verdict on any claims as another implementation of CEL', () => {
  const [conditions, other, writer] = [new CelConditions(), celEnv(), new ConditionWriter(SEED)]
  const results = new Map<unknown, number>()
  for (let accepted = 0, written = 0; accepted < CONDITIONS; written += 1) {
    assert.ok(written < 10 * CONDITIONS, 'few of what is written are conditions')
    const text = writer.condition()
    const condition = conditions.read(text)
    if ('problem' in condition) continue
    accepted += 1
    const evaluate = plan(other, parse(text))
    for (let round = 0; round < 3; round += 1) {
      const claims = writer.claims()
      const { tokenType: token_type, ...same } = claims
      const expected = evaluate({ ...same, token_type } as Parameters<typeof evaluate>[0])
      const result: boolean | 'error' = condition.evaluate(claims)
      assert.equal(result, isCelError(expected) ? 'error' : expected, `${text} of ${JSON.stringify(claims)}`)
      results.set(result, (results.get(result) ?? 0) + 1)
    }
  }
  for (const result of [true, false, 'error'])
    assert.ok((results.get(result) ?? 0) > CONDITIONS / 10, `${result} is rare`)
})

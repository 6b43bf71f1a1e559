import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryDelay } from './retry.ts'

const middle = (): number => 0.5
const limited = { reason: 'PROVIDER_RATE_LIMITED', retryAfter: undefined }

test('a provider call is repeated four times, each wait twice as long', () => {
  const delays = [1, 2, 3, 4, 5].map((attempt) => retryDelay(limited, attempt, 0, middle))
  assert.deepEqual(delays, [2_000, 4_000, 8_000, 16_000, undefined])
})

test('jitter changes a wait by at most a quarter', () => {
  assert.equal(
    retryDelay(limited, 1, 0, () => 0),
    1_500,
  )
  assert.equal(
    retryDelay(limited, 1, 0, () => 1),
    2_500,
  )
})

test('the wait that the provider requests is honoured, up to five minutes', () => {
  const after = (retryAfter: string) => retryDelay({ ...limited, retryAfter }, 1, Date.UTC(2030, 0, 1), middle)
  assert.equal(after('7'), 7_000)
  assert.equal(after('1'), 2_000)
  assert.equal(after('Tue, 01 Jan 2030 00:01:00 GMT'), 60_000)
  assert.equal(after('soon'), 2_000)
  assert.equal(after('301'), undefined)
})

test('an error that a retry cannot mend is not retried; one without a reason is', () => {
  for (const reason of [
    'PROVIDER_REFUSED',
    'CREDENTIAL_REFUSED',
    'MODEL_NOT_FOUND',
    'REQUEST_INVALID',
    'CREDIT_INSUFFICIENT',
  ]) {
    assert.equal(retryDelay({ reason, retryAfter: undefined }, 1, 0, middle), undefined)
  }
  assert.equal(retryDelay({ reason: undefined, retryAfter: undefined }, 1, 0, middle), 2_000)
})

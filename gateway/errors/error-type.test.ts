import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasons } from '#services/inference/reasons.ts'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { errorTypeOf } from './error-type.ts'

test('a provider’s failure has the type of the provider’s status, any other that of its own status', () => {
  const refused = toConnectError(new Rejection('PROVIDER_REFUSED', { status: '404' }), 'inference', reasons)
  assert.equal(errorTypeOf(refused, 500), 'not_found')
  assert.equal(errorTypeOf(new Error('x'), 402), 'payment_required')
  assert.equal(errorTypeOf(new Error('x'), 429), 'rate_limit_exceeded')
  assert.equal(errorTypeOf(new Error('x'), 400), 'invalid_request')
  assert.equal(errorTypeOf(new Error('x'), 500), 'server')
})

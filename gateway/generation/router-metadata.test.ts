import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { closingReasons, serviceClosing } from '#shared/rpc/server-reasons.ts'
import type { Call } from '../call.ts'
import { describeTo } from './router-metadata.ts'

test('a failure says that no provider was called only where that is known', () => {
  const call: Partial<Call> = {}
  describeTo(call as Call, { 'x-openrouter-metadata': 'enabled' }, { model: 'a/b' })
  const unsent = call.describeFailure?.(new Rejection('BODY_MALFORMED'))
  assert.deepEqual(JSON.parse(JSON.stringify(unsent)), {
    ...{ requested: 'a/b', strategy: 'direct', region: null, is_byok: false },
    ...{ summary: 'no provider was called', attempt: 0, endpoints: { total: 0, available: [] } },
  })
  for (const code of [Code.DeadlineExceeded, Code.Unavailable, Code.Unknown]) {
    assert.equal(call.describeFailure?.(new ConnectError('late', code)), undefined)
  }
  // A service that stops waits for its generations, and ends those that last longer.
  const stopped = toConnectError(serviceClosing(), 'server', closingReasons)
  assert.equal(call.describeFailure?.(stopped), undefined)
})

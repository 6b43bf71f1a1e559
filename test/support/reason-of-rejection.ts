import assert from 'node:assert/strict'
import { Rejection } from '#shared/rejection.ts'

/**
 * For assert.rejects and assert.throws: the error is a Rejection with that reason and, if given, exactly that metadata.
 */
export function reasonOfRejection(reason: string, metadata?: Record<string, string>): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Rejection, `not a Rejection: ${error}`)
    assert.equal(error.reason, reason)
    if (metadata !== undefined) assert.deepEqual(error.metadata, metadata)
    return true
  }
}

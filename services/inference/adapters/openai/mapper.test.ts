import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { openaiError } from './error.ts'
import { OpenaiMapper } from './mapper.ts'

/** Names that every JavaScript object inherits. */
const INHERITED = ['constructor', 'toString', '__proto__']

test('a reason that is a member of every object is as unknown as any other', () => {
  for (const word of INHERITED) {
    const mapper = new OpenaiMapper('p', [])
    mapper.whole({ choices: [{ message: { content: 'a' }, finish_reason: word }] })
    assert.deepEqual(mapper.take().at(-1), { type: 'finished', reason: 'other', rawReason: word })
  }
})

test('the same holds for the type of an error', () => {
  for (const word of INHERITED) {
    const error = openaiError('p', { code: word, type: word, message: 'M' })
    assert.ok(error instanceof Rejection)
    assert.deepEqual([error.reason, error.metadata.status], ['PROVIDER_UNAVAILABLE', '502'])
  }
})

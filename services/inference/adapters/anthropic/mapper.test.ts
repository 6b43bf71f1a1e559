import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { AnthropicMapper } from './mapper.ts'

/** Words that every object of JavaScript has as members. */
const INHERITED = ['constructor', 'toString', '__proto__']

test('a reason that is a member of every object is as unknown as any other', () => {
  for (const word of INHERITED) {
    const mapper = new AnthropicMapper('p', [])
    mapper.whole({ content: [{ type: 'text', text: 'a' }], stop_reason: word })
    assert.deepEqual(mapper.take().at(-1), { type: 'finished', reason: 'other', rawReason: word })
  }
})

test('so is such a word of an error', () => {
  for (const word of INHERITED) {
    const mapper = new AnthropicMapper('p', [])
    assert.throws(
      () => mapper.whole({ error: { type: word, message: 'M' } }),
      (error) => error instanceof Rejection && error.metadata.status === '500',
    )
  }
})

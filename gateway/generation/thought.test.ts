import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openProof, sealProof } from './thought.ts'

test('a proof comes back unchanged, with its maker, and a native one is not marked', () => {
  const native = 'anthropic-claude-v1'
  for (const format of [native, 'openai-responses-v1', undefined]) {
    for (const proof of ['abc', 'a:b:c', 'portico:x', '']) {
      if (format === native && proof.startsWith('portico:')) continue
      const sealed = sealProof(format, proof, native)
      assert.deepEqual(openProof(sealed, native), { format, proof })
      assert.equal(sealed === proof, format === native)
    }
  }
  assert.deepEqual(openProof('portico', native), { format: native, proof: 'portico' })
})

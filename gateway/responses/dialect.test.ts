import assert from 'node:assert/strict'
import test from 'node:test'
import { KeyTerms_ResponsesDialect as DialectMessage } from '#gen/portico/identity/v1/identity_pb.js'
import { chooseDialect } from './dialect.ts'

test('the header decides the dialect, then the key, then the path and sender of the request, then the server', () => {
  const sdk = { 'x-stainless-lang': 'js' }
  const nothing = { atV1: false, ofKey: undefined, byDefault: 'specification' } as const
  assert.equal(
    chooseDialect({ ...sdk, 'x-stream-dialect': 'both' }, { ...nothing, atV1: true, ofKey: DialectMessage.OPENAI }),
    'both',
  )
  assert.equal(chooseDialect(sdk, { ...nothing, atV1: true, ofKey: DialectMessage.BOTH }), 'both')
  assert.equal(chooseDialect({}, { ...nothing, atV1: true, ofKey: 99 as DialectMessage }), 'openai')
  assert.equal(chooseDialect(sdk, nothing), 'openai')
  assert.equal(chooseDialect({ 'user-agent': 'OpenAI/JS 6' }, nothing), 'specification')
})

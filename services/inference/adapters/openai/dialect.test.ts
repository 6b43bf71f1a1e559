import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectOf } from './dialect.ts'

test('the host of a provider decides its dialect; if the host is unknown, its id does', () => {
  for (const [id, baseUrl, dialect] of [
    ['eu-openai', 'https://eu.api.openai.com/v1', 'openai'],
    ['mine', 'https://api.openai.com/v1', 'openai'],
    ['or', 'https://openrouter.ai/api/v1', 'openrouter'],
    ['openai', 'http://127.0.0.1:8080/v1', 'openai'],
    ['openrouter', 'http://proxy.test/v1', 'openrouter'],
    ['vllm', 'http://127.0.0.1:8000/v1', 'compatible'],
    ['fake', 'https://api.openai.com.evil.test/v1', 'compatible'],
    ['near', 'https://notapi.openai.com/v1', 'compatible'],
  ] as const) {
    assert.equal(dialectOf(id, baseUrl), dialect, `${id} ${baseUrl}`)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plain } from '#test/support/inference.ts'
import { BundledPrices } from './bundled-prices.ts'

const local = 'http://127.0.0.1:9/v1'

test('a model has the price of its provider, by the address, else by the id', async () => {
  const providers = [
    { id: 'mine', baseUrl: 'https://api.openai.com/v1' },
    { id: 'anthropic', baseUrl: local },
    { id: 'my-openai', baseUrl: local },
  ]
  const prices = new BundledPrices(providers)
  assert.deepEqual(plain(await prices.find('mine', 'gpt-4o-2024-08-06')), {
    pricing: {
      ...{ inputNanos: 2_500_000_000n, outputNanos: 10_000_000_000n, cacheReadNanos: 1_250_000_000n },
      ...{ cacheWriteNanos: 2_500_000_000n, webSearchNanos: 10_000_000n, fileSearchNanos: 2_500_000n },
      ...{ long: [], listed: true },
    },
    contextLength: 128_000,
  })
  const claude = await prices.find('anthropic', 'claude-opus-4-5')
  const { cacheWriteNanos, longCacheWriteNanos, webSearchNanos } = claude?.pricing ?? {}
  assert.deepEqual(
    [cacheWriteNanos, longCacheWriteNanos, webSearchNanos],
    [6_250_000_000n, 10_000_000_000n, 10_000_000n],
  )
  assert.equal(await prices.find('my-openai', 'gpt-4o'), undefined, 'a name that only resembles one')
  assert.equal(await prices.find('mine', 'nobody-knows'), undefined)
  assert.equal(await prices.find('portico', 'echo'), undefined)
})

test('a long input has prices of its own', async () => {
  const prices = new BundledPrices([{ id: 'google', baseUrl: local }])
  const { pricing } = (await prices.find('google', 'gemini-2.5-pro')) ?? {}
  const long = {
    ...{ inputNanos: 2_500_000_000n, outputNanos: 15_000_000_000n },
    ...{ cacheReadNanos: 250_000_000n, cacheWriteNanos: 2_500_000_000n, long: [], listed: false },
  }
  assert.deepEqual(plain(pricing?.long), [{ aboveTokens: 200_000n, pricing: long }])
  assert.equal(pricing?.outputNanos, 10_000_000_000n)
})

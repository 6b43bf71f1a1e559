// `npm run soak:tokens`: mutated-tokens.test.ts with 1,000,000 tokens instead of 20,000, and a look at the memory; takes minutes.
process.env.PORTICO_TEST_RUNS ??= '1000000'
await import('#services/identity/run/exchange/mutated-tokens.test.ts')

// `npm run soak:tokens`: mutated-tokens.test.ts and mutated-forms.test.ts with 1,000,000 tokens and forms instead of
// 8,000, and a check of the memory; takes half an hour. PORTICO_TEST_RUNS sets the number of each.
process.env.PORTICO_TEST_RUNS ??= '500000'
await import('#services/identity/run/exchange/mutated-tokens.test.ts')
await import('#test/http/mutated-forms.test.ts')

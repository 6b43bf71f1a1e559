// `npm run soak:conditions`: differential.test.ts with 100,000 conditions instead of 10,000; takes a minute.
process.env.PORTICO_TEST_RUNS ??= '100000'
await import('#services/identity/adapters/cel/differential.test.ts')

// `npm run soak:bodies`: any-body.test.ts with 100,000 bodies instead of a few hundred; takes minutes.
process.env.PORTICO_TEST_RUNS ??= '100000'
await import('./any-body.test.ts')

// `npm run soak:mixed [-- SECONDS]`: the long form of mixed.test.ts; 13 minutes by default.
import { mixedRounds } from './mixed-rounds.ts'

const seconds = Number(process.argv[2] ?? 780)
process.stdout.write(`${JSON.stringify(await mixedRounds(seconds, Math.random), null, 1)}\n`)

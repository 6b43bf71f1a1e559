// `npm run soak:kill [-- KILLS]`: the long form of kill.test.ts.
import { killRounds } from './kill-rounds.ts'

const kills = Number(process.argv[2] ?? 200)
process.stdout.write(`${JSON.stringify(await killRounds(kills, Math.random))}\n`)

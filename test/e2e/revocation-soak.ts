// `npm run soak:revocation [-- ROUNDS]`: the long form of revocation.test.ts.
import { openTwoOnSqlite, revocationRounds, startTwoOnMongo } from './revocation-rounds.ts'

const rounds = Number(process.argv[2] ?? 1_000)
for (const openDeployment of [openTwoOnSqlite, startTwoOnMongo]) {
  await using deployment = await openDeployment()
  process.stdout.write(`${openDeployment.name} ${JSON.stringify(await revocationRounds(deployment, rounds))}\n`)
}

// `npm run soak:revocation [-- ROUNDS]`: the long form of revocation.test.ts; 1,000 rounds on SQLite, and as many on
// MongoDB if there is a server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTwoOnSqlite, revocationRounds, startTwoOnMongo } from '#test/e2e/revocation-rounds.ts'
import { startMongo } from './test-mongo.ts'

const rounds = Number(process.argv[2] ?? 1_000)
const scratch = mkdtempSync(join(tmpdir(), 'portico-revocation-'))
const mongo = await startMongo(scratch)
// Where test/support looks for it.
if (mongo.uri !== undefined) process.env.PORTICO_TEST_MONGODB_URI = mongo.uri
try {
  await play('SQLite', openTwoOnSqlite)
  if (mongo.uri === undefined) say(`MongoDB was not tested: ${mongo.description}`)
  else await play('MongoDB', startTwoOnMongo)
} finally {
  await mongo.stop()
  rmSync(scratch, { recursive: true, force: true })
}

async function play(where: string, openDeployment: typeof startTwoOnMongo): Promise<void> {
  await using deployment = await openDeployment()
  say(`${where}: ${JSON.stringify(await revocationRounds(deployment, rounds))}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

// `npm run soak:kill [-- KILLS [FIVE]]`: the long form of kill.test.ts; by default 200 kills of the single process, and
// 20 of the five processes if there is a MongoDB server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killRounds } from '#test/e2e/kill-rounds.ts'
import { startMongo } from './test-mongo.ts'

const [kills = 200, five = 20] = process.argv.slice(2).map(Number)
const say = (report: object): void => void process.stdout.write(`${JSON.stringify(report)}\n`)
if (kills > 0) say(await killRounds(kills, Math.random))
if (five > 0) {
  const scratch = mkdtempSync(join(tmpdir(), 'portico-kill-'))
  const mongo = await startMongo(scratch)
  // Where test/support looks for it.
  if (mongo.uri !== undefined) process.env.PORTICO_TEST_MONGODB_URI = mongo.uri
  try {
    if (mongo.uri !== undefined) say(await killRounds(five, Math.random, mongo.uri))
  } finally {
    await mongo.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

// Counts the calls of a store in one run: 20 steps with 5 tool calls each, where each part of an answer is a batch of
// its own. Usage: node bench/store-operations.ts [MONGODB_URI]
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { MongoClient } from 'mongodb'
import { randomText } from '#shared/ids.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { openSessionService } from '#test/support/session-service.ts'
import { calls, text } from '#test/support/session-turns.ts'

const STEPS = 20
const CALLS = 5

const counts = new Map<string, number>()
const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

const { prepare } = DatabaseSync.prototype
const names = new WeakMap<StatementSync, string>()
DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...words: Parameters<typeof prepare>) {
  const statement = prepare.apply(this, words)
  const [sql] = words
  names.set(statement, sql.trim().split(/\s/)[0]?.toUpperCase() ?? '')
  return statement
} as typeof prepare
for (const method of ['run', 'get', 'all', 'iterate'] as const) {
  const original = StatementSync.prototype[method]
  Object.defineProperty(StatementSync.prototype, method, {
    value(this: StatementSync, ...words: never[]) {
      const name = names.get(this) ?? ''
      if (!['SAVEPOINT', 'RELEASE', 'BEGIN', 'PRAGMA'].includes(name)) count(name)
      return Reflect.apply(original, this, words)
    },
  })
}
const { connect } = MongoClient.prototype
MongoClient.prototype.connect = function (this: MongoClient) {
  this.on('commandStarted', ({ commandName, command }) => {
    if (['getMore', 'endSessions', 'ping', 'hello', 'killCursors'].includes(commandName)) return
    count(command.pipeline?.[0]?.$changeStream === undefined ? commandName : 'watch')
  })
  return connect.apply(this)
}

const peers = scriptedPeers()
for (let step = 0; step < STEPS; step++) {
  peers.turns.push(
    calls(...Array.from({ length: CALLS }, (_, n) => ({ id: `call_${n}`, name: 'look', input: { path: `${n}` } }))),
  )
}
peers.turns.push(text('That is all.'))
const [uri] = process.argv.slice(2)
const database = `operations_${randomText(8)}`
const store =
  uri === undefined ? {} : { store: { kind: 'mongodb' as const, uri: `${uri}&monitorCommands=true`, database } }
await using service = await openSessionService({ peers, ...store })
await service.create()
counts.clear()
const started = performance.now()
await service.prompt('go')
await service.wait()
const steps = (await service.steps()).length
const total = [...counts.values()].reduce((sum, n) => sum + n, 0)
process.stdout.write(
  `${uri === undefined ? 'SQLite' : 'MongoDB'}: ${total} operations in ${steps} steps, ${Math.round(performance.now() - started)} ms ${JSON.stringify(Object.fromEntries(counts))}\n`,
)

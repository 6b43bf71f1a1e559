import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'

const migrate = (environment: Record<string, string>, ...words: string[]) =>
  runToEnd('cli/migrate.ts', words, environment)

/** Asserts that the command refuses a store that does not exist, unless it need not exist. */
async function refusesMissing(place: string, environment: Record<string, string>): Promise<void> {
  const missing = `There is no store in ${place}`
  const stderr = `${missing}. Run this command with the environment of the server.\n`
  assert.deepEqual(await migrate(environment), { code: 1, stdout: '', stderr })
  const stdout = `${missing}: nothing to migrate.\n`
  assert.deepEqual(await migrate(environment, '--if-exists'), { code: 0, stdout, stderr: '' })
}

test('a data folder without a store is refused, and nothing is made in it', async () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'mistyped')
  await refusesMissing(`the folder ${path}`, { PORTICO_DATA_DIR: path })
  assert.equal(existsSync(path), false)
})

test('a database without a store is refused, and nothing is made in it', { skip: skipWithoutMongo }, async () => {
  const [uri, database] = [mongoUri() ?? '', freshDatabaseName()]
  await using mongo = await openMongo({ uri, database })
  const environment = { PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database }
  await refusesMissing(`the database ${database} at ${uri}`, environment)
  assert.deepEqual(await mongo.db.listCollections().toArray(), [])
})

test('unknown arguments are answered with the usage', async () => {
  const stderr = 'Usage: npm run migrate [-- --if-exists]\n'
  assert.deepEqual(await migrate({}, '--force'), { code: 2, stdout: '', stderr })
})

test('a store whose server runs is refused in one line that says so; once it has stopped, the store is up to date', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const server = await startProcess('main.ts', environment)
  try {
    const file = join(data.path, 'session.sqlite')
    const stderr = `${file} is in use by another process: stop the server first, or wait for the other migration\n`
    assert.deepEqual(await migrate(environment), { code: 1, stdout: '', stderr })
  } finally {
    await server.stop()
  }
  const stdout = `Up to date: the folder ${data.path}\n`
  assert.deepEqual(await migrate(environment), { code: 0, stdout, stderr: '' })
})

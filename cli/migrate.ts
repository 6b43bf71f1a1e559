// `npm run migrate`: migrates the stores in this environment to this version. Run it while no server uses them; the
// single process does the same at its start. With --if-exists, a store that does not exist is not an error.
import { z } from 'zod'
import { storeSchema as identity } from '#services/identity/open.ts'
import { storeSchema as inference } from '#services/inference/open.ts'
import { storeSchema as session } from '#services/session/open.ts'
import { readEnvironment } from '#shared/config/config.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { describeStore, storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'
import { anyStored, migrateStores } from '#shared/stores/migrate-stores.ts'

const USAGE = 'Usage: npm run migrate [-- --if-exists]\n'
const SCHEMAS = [session, inference, identity]

const words = process.argv.slice(2)
if (words.some((word) => word !== '--if-exists')) {
  process.stderr.write(USAGE)
  process.exit(2)
}
try {
  const store = storeOf(readEnvironment(z.object(storeVariables), process.env, storeSecrets))
  const place = describeStore(store)
  if (await anyStored(store, SCHEMAS)) {
    await migrateStores(store, SCHEMAS, print)
    print(`Up to date: ${place}`)
  } else if (words.length > 0) {
    print(`There is no store in ${place}: nothing to migrate.`)
  } else {
    process.stderr.write(`There is no store in ${place}. Run this command with the environment of the server.\n`)
    process.exitCode = 1
  }
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

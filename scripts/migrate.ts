// `npm run migrate`: brings the stores that this environment names to the form of this version. To be run while no server
// uses them; the single process does the same at its start.
import { z } from 'zod'
import { storeSchema as identity } from '#services/identity/open.ts'
import { storeSchema as inference } from '#services/inference/open.ts'
import { storeSchema as session } from '#services/session/open.ts'
import { ConfigError, readEnvironment } from '#shared/config/config.ts'
import { maskCredentials } from '#shared/config/config-print.ts'
import { storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'
import { migrateStores } from '#shared/stores/migrate-stores.ts'

try {
  const store = storeOf(readEnvironment(z.object(storeVariables), process.env, storeSecrets))
  const place = store.kind === 'sqlite' ? store.directory : `${store.database} at ${maskCredentials(store.uri)}`
  await migrateStores(store, [session, inference, identity], print)
  print(`Up to date: ${place}`)
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

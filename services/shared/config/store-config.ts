import { resolve } from 'node:path'
import { z } from 'zod'
import { maskCredentials } from '#shared/config/config-print.ts'
import { mustBe } from '#shared/config/variables.ts'

/** Where a service stores its data. */
export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly directory: string }
  | { readonly kind: 'mongodb'; readonly uri: string; readonly database: string }

/**
 * The variables that choose the store; spread them into a service's schema. `PORTICO_MONGODB_URI` chooses MongoDB
 * (`PORTICO_MONGODB_DATABASE` names the database, default `portico`). Without it, SQLite files are stored in
 * `PORTICO_DATA_DIR`, default `./data`.
 */
export const storeVariables = {
  PORTICO_MONGODB_URI: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\/./, 'must start with mongodb:// or mongodb+srv://')
    .optional(),
  PORTICO_MONGODB_DATABASE: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,38}$/, mustBe('1 to 38 letters, digits, _ or -'))
    .default('portico'),
  PORTICO_DATA_DIR: z.string().default('./data'),
}

/** Variables of the store that may come from a file (`PORTICO_MONGODB_URI_FILE`). */
export const storeSecrets = ['PORTICO_MONGODB_URI'] as const

/** The store that the variables choose, with an absolute path. */
export function storeOf(values: z.output<z.ZodObject<typeof storeVariables>>): StoreConfig {
  return values.PORTICO_MONGODB_URI === undefined
    ? { kind: 'sqlite', directory: resolve(values.PORTICO_DATA_DIR) }
    : { kind: 'mongodb', uri: values.PORTICO_MONGODB_URI, database: values.PORTICO_MONGODB_DATABASE }
}

/** Describes the store to its operator, without a password. */
export function describeStore(store: StoreConfig): string {
  if (store.kind === 'sqlite') return `the folder ${store.directory}`
  return `the database ${store.database} at ${maskCredentials(store.uri)}`
}

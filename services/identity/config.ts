import { z } from 'zod'
import { type Environment, readEnvironment } from '#shared/config/config.ts'
import { type StoreConfig, storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'

/** Settings of the identity service. */
export interface Config {
  readonly store: StoreConfig
  /** Keys that the operator chose; undefined: made up on the first start. */
  readonly managementKey: string | undefined
  readonly apiKey: string | undefined
}

const key = () =>
  z
    .string()
    .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 visible ASCII characters')
    .optional()

const schema = z
  .object({
    ...storeVariables,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: key(),
    PORTICO_BOOTSTRAP_API_KEY: key(),
  })
  .refine(
    (values) => {
      const { PORTICO_BOOTSTRAP_API_KEY: apiKey, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: managementKey } = values
      return apiKey === undefined || apiKey !== managementKey
    },
    { path: ['PORTICO_BOOTSTRAP_API_KEY'], message: 'must differ from PORTICO_BOOTSTRAP_MANAGEMENT_KEY' },
  )

const secrets = [...storeSecrets, 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', 'PORTICO_BOOTSTRAP_API_KEY']

/**
 * Reads the settings of the identity service. `PORTICO_BOOTSTRAP_MANAGEMENT_KEY` and `PORTICO_BOOTSTRAP_API_KEY` are
 * keys that exist after each start, for containers and tests; without them the first start makes keys up.
 */
export function readConfig(env: Environment): Config {
  const values = readEnvironment(schema, env, secrets)
  return {
    store: storeOf(values),
    managementKey: values.PORTICO_BOOTSTRAP_MANAGEMENT_KEY,
    apiKey: values.PORTICO_BOOTSTRAP_API_KEY,
  }
}

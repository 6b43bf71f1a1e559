import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import type { Environment } from '#shared/config/environment.ts'
import { readSecretFile } from '#shared/config/secret-file.ts'
import { type StoreConfig, storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'
import { integerVariable, jsonVariable, mustBe, urlVariable } from '#shared/config/variables.ts'
import type { FederationNetwork } from './domain/issuer-keys/address.ts'
import type { SharedIssuers } from './domain/shared-issuer.ts'
import { isEncryptionKey } from './domain/signing-key.ts'

/** Settings of the identity service. */
export interface Config {
  readonly store: StoreConfig
  /** Keys that the operator chose; undefined: made up on the first start. */
  readonly managementKey: string | undefined
  readonly apiKey: string | undefined
  /** Origin that access tokens name as their issuer; undefined: where the gateway listens. */
  readonly publicOrigin: string | undefined
  /** What signing keys are encrypted with: the first encrypts, all of them decrypt. None: see `open.ts`. */
  readonly encryptionKeys: readonly string[]
  /** Where issuers may be besides the public internet (`PORTICO_FEDERATION_NETWORKS`, JSON). */
  readonly federationNetworks: readonly FederationNetwork[]
  /** For how many days entries of the audit log are kept; 0: for ever. */
  readonly auditDays: number
  readonly sharedIssuers: SharedIssuers
}

/** The key before a change and the one after it are two; more are there when one was changed twice in a row. */
const MOST_ENCRYPTION_KEYS = 4

const key = () =>
  z
    .string()
    .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 visible ASCII characters')
    .refine((text) => !/^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(text), 'must not have the form of an access token')
    .optional()

const network = z.string().refine((text) => {
  const [, address = '', prefix] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && !address.includes('%') && Number(prefix) <= (family === 4 ? 32 : 128)
}, mustBe('a network such as 10.0.0.0/8'))

/** A file's absolute path; it has to hold what `read` reads, which throws an error for people. */
const file = (read: (path: string) => unknown) =>
  z.string().transform((path, context) => {
    try {
      read(resolve(path))
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    }
    return resolve(path)
  })

const certificates = file((path) => {
  try {
    return new X509Certificate(readFileSync(path))
  } catch {
    throw new Error(`${path} must be a file with a certificate in PEM form`)
  }
})

/** As a URL has it: `name`, or `name:port` for another port than 443. */
const host = z.string().refine((text) => URL.parse(`https://${text}`)?.host === text)

const federationNetworks = z.array(
  z.strictObject({
    networks: z.array(network).min(1),
    caFile: certificates.optional(),
    hosts: z
      .record(
        host,
        z.strictObject({
          tokenFile: file(readSecretFile)
            .optional()
            .transform((path) => path),
        }),
      )
      .default({}),
  }),
)

const schema = z
  .object({
    ...storeVariables,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: key(),
    PORTICO_BOOTSTRAP_API_KEY: key(),
    PORTICO_PUBLIC_URL: urlVariable().optional(),
    PORTICO_FEDERATION_NETWORKS: jsonVariable(federationNetworks).default([]),
    PORTICO_AUDIT_DAYS: integerVariable({ min: 0, max: 36_500 }).default(400),
    PORTICO_FEDERATION_SHARED_ISSUERS: z.enum(['warn', 'refuse'], mustBe('warn or refuse')).default('warn'),
    PORTICO_KEY_ENCRYPTION_KEY: z
      .string()
      .transform((list) => list.split(',').map((text) => text.trim()))
      .refine(
        (keys) => keys.length <= MOST_ENCRYPTION_KEYS && keys.every(isEncryptionKey),
        'must be 32 bytes in base64 (openssl rand -base64 32), or up to 4 such keys, separated by commas',
      )
      .default([]),
  })
  .refine(
    (values) => {
      const { PORTICO_BOOTSTRAP_API_KEY: apiKey, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: managementKey } = values
      return apiKey === undefined || apiKey !== managementKey
    },
    { path: ['PORTICO_BOOTSTRAP_API_KEY'], message: 'must differ from PORTICO_BOOTSTRAP_MANAGEMENT_KEY' },
  )

const secrets = [
  ...storeSecrets,
  'PORTICO_BOOTSTRAP_MANAGEMENT_KEY',
  'PORTICO_BOOTSTRAP_API_KEY',
  'PORTICO_KEY_ENCRYPTION_KEY',
]

/**
 * Reads the settings of the identity service. `PORTICO_BOOTSTRAP_MANAGEMENT_KEY` and `PORTICO_BOOTSTRAP_API_KEY` are
 * keys that exist after each start, for containers and tests; without them the first start makes keys up.
 * `PORTICO_KEY_ENCRYPTION_KEY` is changed by giving the new key before the old one, or, with several processes, first behind it.
 */
export function readConfig(env: Environment): Config {
  const values = readEnvironment(schema, env, secrets)
  return {
    store: storeOf(values),
    managementKey: values.PORTICO_BOOTSTRAP_MANAGEMENT_KEY,
    apiKey: values.PORTICO_BOOTSTRAP_API_KEY,
    publicOrigin: values.PORTICO_PUBLIC_URL && new URL(values.PORTICO_PUBLIC_URL).origin,
    encryptionKeys: values.PORTICO_KEY_ENCRYPTION_KEY,
    federationNetworks: values.PORTICO_FEDERATION_NETWORKS,
    auditDays: values.PORTICO_AUDIT_DAYS,
    sharedIssuers: values.PORTICO_FEDERATION_SHARED_ISSUERS,
  }
}

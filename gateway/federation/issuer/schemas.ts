import { z } from 'zod'
import { moment } from '#gateway/records/time.ts'
import { freeObject, limitedBy } from '#gateway/shape.ts'
import { IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'

const { name, issuerUrl, jwksUrl, maxAgeSeconds } = IssuerSettingsSchema.field
const KEY_SET = 'A JSON Web Key Set (RFC 7517), whose keys have the members of their types'

const fields = {
  name: limitedBy(name, z.string()),
  issuer_url: limitedBy(issuerUrl, z.string()).meta({ description: 'Equals the `iss` claim; begins with `https://`' }),
  jwks_url: limitedBy(jwksUrl, z.string())
    .nullable()
    .meta({ description: 'Where the keys are published; without it and `jwks`, they are found by discovery' }),
  jwks: freeObject(KEY_SET).nullable(),
  single_use: z.boolean().meta({ description: 'Whether each token is exchanged only once, by its `jti`' }),
  max_age_seconds: limitedBy(maxAgeSeconds, z.int()).nullable(),
}

const hasOneSource = ({ jwks_url: url, jwks }: { readonly jwks_url?: unknown; readonly jwks?: unknown }): boolean =>
  url == null || jwks == null
const TWO_SOURCES = { path: ['jwks'], error: 'must not be given together with jwks_url' }

export const createIssuerBody = z
  .strictObject(fields)
  .partial({ jwks_url: true, jwks: true, single_use: true, max_age_seconds: true })
  .refine(hasOneSource, TWO_SOURCES)

/** Body of issuers.update: what is left out stays as it is, null is removed. */
export const updateIssuerBody = z.strictObject(fields).partial().refine(hasOneSource, TWO_SOURCES)

const keyHealth = z.strictObject({
  last_success_at: moment.nullable(),
  last_failure_at: moment.nullable(),
  last_failure: z.string().nullable().meta({ description: 'Why the last failed attempt failed' }),
  next_try_at: moment
    .nullable()
    .meta({ description: 'Nothing is fetched before that time; null: keys are fetched when they are needed' }),
})

export const issuer = z
  .strictObject({
    id: z.string(),
    ...fields,
    revision: z.int().meta({ description: 'Raised by every change' }),
    created_at: moment,
    updated_at: moment,
    key_health: keyHealth
      .nullable()
      .meta({ description: 'The results of the last attempts to fetch its keys; null: none was made' }),
  })
  .meta({ id: 'Issuer' })

import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import { type Issuer, IssuerSettingsSchema, type KeyHealth } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromMaybeMoment, fromMoment, moment } from '../records/time.ts'
import { freeObject, limitedBy } from '../shape.ts'

const { name, issuerUrl, jwksUrl, maxAgeSeconds } = IssuerSettingsSchema.field
const KEY_SET = 'A JSON Web Key Set (RFC 7517), whose keys have members of their kinds'

const fields = {
  name: limitedBy(name, z.string()),
  issuer_url: limitedBy(issuerUrl, z.string()).meta({ description: 'Equals the `iss` claim; begins with `https://`' }),
  jwks_url: limitedBy(jwksUrl, z.string())
    .nullable()
    .meta({ description: 'Where the keys are published; without it, and without `jwks`, by discovery' }),
  jwks: freeObject(KEY_SET).nullable(),
  single_use: z.boolean().meta({ description: 'Whether each token is exchanged once, by its `jti`' }),
  max_age_seconds: limitedBy(maxAgeSeconds, z.int()).nullable(),
}

const hasOneSource = ({ jwks_url: url, jwks }: { readonly jwks_url?: unknown; readonly jwks?: unknown }): boolean =>
  url == null || jwks == null
const TWO_SOURCES = { path: ['jwks'], error: 'must be left out beside jwks_url' }

/** Body of issuers.create. */
export const createIssuerBody = z
  .strictObject(fields)
  .partial({ jwks_url: true, jwks: true, single_use: true, max_age_seconds: true })
  .refine(hasOneSource, TWO_SOURCES)

/** Body of issuers.update: what is left out stays as it is, null is removed. */
export const updateIssuerBody = z.strictObject(fields).partial().refine(hasOneSource, TWO_SOURCES)

type Body = z.output<typeof updateIssuerBody>

export function toIssuerSettings(body: Body): MessageInitShape<typeof IssuerSettingsSchema> {
  const { name = '', issuer_url: issuerUrl = '', single_use: singleUse = false, max_age_seconds: maxAge } = body
  const settings = { name, issuerUrl, singleUse, ...(maxAge == null ? {} : { maxAgeSeconds: maxAge }) }
  if (body.jwks != null) return { ...settings, keySource: { case: 'jwks', value: JSON.stringify(body.jwks) } }
  if (body.jwks_url != null) return { ...settings, keySource: { case: 'jwksUrl', value: body.jwks_url } }
  return settings
}

const keyHealth = z.strictObject({
  last_success_at: moment.nullable(),
  last_failure_at: moment.nullable(),
  last_failure: z.string().nullable().meta({ description: 'Why the last failure was one' }),
  next_try_at: moment.nullable().meta({ description: 'Nothing is fetched before; null: whenever keys are needed' }),
})

/** An issuer as it is shown. */
export const issuer = z
  .strictObject({
    id: z.string(),
    ...fields,
    revision: z.int().meta({ description: 'Raised by every change' }),
    created_at: moment,
    updated_at: moment,
    key_health: keyHealth
      .nullable()
      .meta({ description: 'What became of the last attempts to fetch its keys; null: none was made' }),
  })
  .meta({ id: 'Issuer' })

export function fromIssuer(shown: Issuer | undefined): JsonOf<typeof issuer> {
  const { issuerId, settings, revision, createTime, updateTime, keyHealth: health } = shown ?? {}
  if (issuerId === undefined || settings === undefined) throw new Error('identity answered without an issuer')
  const { keySource } = settings
  return {
    id: issuerId,
    name: settings.name,
    issuer_url: settings.issuerUrl,
    jwks_url: keySource.case === 'jwksUrl' ? keySource.value : null,
    jwks: keySource.case === 'jwks' ? (JSON.parse(keySource.value) as Record<string, unknown>) : null,
    single_use: settings.singleUse,
    max_age_seconds: settings.maxAgeSeconds ?? null,
    revision: Number(revision),
    created_at: fromMoment(createTime),
    updated_at: fromMoment(updateTime),
    key_health: health === undefined ? null : fromHealth(health),
  }
}

function fromHealth({ lastSuccessTime, lastFailureTime, lastFailure, nextTryTime }: KeyHealth) {
  return {
    last_success_at: fromMaybeMoment(lastSuccessTime),
    last_failure_at: fromMaybeMoment(lastFailureTime),
    last_failure: lastFailure ?? null,
    next_try_at: fromMaybeMoment(nextTryTime),
  }
}

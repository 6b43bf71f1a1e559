import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { JsonOf } from '#gateway/kinds.ts'
import { fromMaybeMoment, fromMoment } from '#gateway/records/time.ts'
import type { Issuer, IssuerSettingsSchema, KeyHealth } from '#gen/portico/identity/v1/federation_pb.js'
import type { issuer, updateIssuerBody } from './schemas.ts'

type Body = z.output<typeof updateIssuerBody>

export function toIssuerSettings(body: Body): MessageInitShape<typeof IssuerSettingsSchema> {
  const { name = '', issuer_url: issuerUrl = '', single_use: singleUse = false, max_age_seconds: maxAge } = body
  const settings = { name, issuerUrl, singleUse, maxAgeSeconds: maxAge ?? undefined }
  if (body.jwks != null) return { ...settings, keySource: { case: 'jwks', value: JSON.stringify(body.jwks) } }
  if (body.jwks_url != null) return { ...settings, keySource: { case: 'jwksUrl', value: body.jwks_url } }
  return settings
}

export function fromIssuer(record: Issuer | undefined): JsonOf<typeof issuer> {
  if (record?.settings === undefined) throw new Error('identity returned no issuer')
  const { issuerId, settings, revision, createTime, updateTime, keyHealth: health } = record
  const { keySource } = settings
  return {
    id: issuerId,
    name: settings.name,
    issuer_url: settings.issuerUrl,
    jwks_url: keySource.case === 'jwksUrl' ? keySource.value : null,
    jwks: keySource.case === 'jwks' ? (JSON.parse(keySource.value) as Record<string, unknown>) : null,
    single_use: settings.singleUse,
    max_age_seconds: settings.maxAgeSeconds ?? null,
    revision,
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

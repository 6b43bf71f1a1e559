import {
  type IssuerSettings as IssuerSettingsMessage,
  IssuerSettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { issuerSettingsFromProto } from './convert.ts'

const MAX_JWKS_BYTES = 262_144
const checkSettings = checkLimits(IssuerSettingsSchema)

/** Parses the settings in a message. Rejects with REQUEST_INVALID if they cannot be saved; nothing is fetched. */
export function parseIssuerSettings(
  message: IssuerSettingsMessage | undefined,
  issuerKeys: Pick<IssuerKeys, 'problemOf'>,
): IssuerSettings {
  check(message !== undefined, 'settings', 'must be set')
  checkSettings(message)
  const settings = issuerSettingsFromProto(message)
  const { keySource } = settings
  const isShort = keySource.kind !== 'inline' || Buffer.byteLength(keySource.jwks) <= MAX_JWKS_BYTES
  check(isShort, 'jwks', `must have at most ${MAX_JWKS_BYTES} bytes`)
  const found = issuerKeys.problemOf(settings)
  if (found !== undefined) throw invalid(found.field, found.problem)
  return settings
}

/** Checks an issuer's identifier. */
export function parseIssuerId(issuerId: string): string {
  check(/^iss_[0-9A-Za-z]{1,60}$/.test(issuerId), 'issuer_id', 'must be an id of the form iss_…')
  return issuerId
}

import { ExchangeTokenRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'

/** Longest token of an identity provider, in characters. */
const { most: MOST_CHARACTERS } = limitOf(ExchangeTokenRequestSchema.field.subjectToken)

/** Three parts in base64url; the signature of a token that has none is empty. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Refuses, with BODY_INVALID, a token or an id that cannot be one; nothing was read from a store by then. */
export function requireShape(form: { readonly subject_token: string; readonly federation_policy_id: string }): void {
  const { subject_token: token, federation_policy_id: policyId } = form
  if (token.length > MOST_CHARACTERS) throw invalid('subject_token', `must have at most ${MOST_CHARACTERS} characters`)
  if (!JWT.test(token)) throw invalid('subject_token', 'is not a JWT')
  if (!UUID.test(policyId)) throw invalid('federation_policy_id', 'is not a UUID')
}

function invalid(field: string, problem: string): Rejection {
  return new Rejection('BODY_INVALID', { field, problem })
}

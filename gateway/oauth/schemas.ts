import { z } from 'zod'
import { ExchangeTokenRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { limitedBy } from '../shape.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt'
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'
export const SCOPE = 'inference'

/** A public key as a JSON Web Key (RFC 7517), with these members and no others. */
const publicKey = z
  .strictObject({
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    kid: z.string().min(1),
    x: z.string().meta({ description: 'base64url' }),
    y: z.string().meta({ description: 'base64url' }),
    alg: z.literal('ES256'),
    use: z.literal('sig'),
  })
  .meta({ id: 'SigningKey' })

export const keySet = z.strictObject({ keys: z.array(publicKey).min(1) })

/** Metadata of an authorization server (RFC 8414). */
export const serverMetadata = z.strictObject({
  issuer: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  response_types_supported: z.array(z.never()).max(0).meta({ description: 'There is no authorization endpoint' }),
  grant_types_supported: z.tuple([z.literal(GRANT_TYPE)]),
  token_endpoint_auth_methods_supported: z
    .tuple([z.literal('none')])
    .meta({ description: 'The subject token is the credential' }),
  scopes_supported: z.tuple([z.literal(SCOPE)]),
})

/** What the metadata says of every server. */
export const SERVED = {
  response_types_supported: [],
  grant_types_supported: [GRANT_TYPE],
  token_endpoint_auth_methods_supported: ['none'],
  scopes_supported: [SCOPE],
} as const

/**
 * A token exchange (RFC 8693). Its members are in the order in which they are checked: the grant, the required ones,
 * the optional ones. The forms of the token and the id are checked last.
 */
export const exchangeForm = z.object({
  grant_type: z.literal(GRANT_TYPE),
  subject_token: limitedBy(ExchangeTokenRequestSchema.field.subjectToken, z.string().min(1)).meta({
    description: 'The JWT of the identity provider, signed with `RS256` or `ES256`',
  }),
  subject_token_type: z.literal(JWT_TYPE),
  federation_policy_id: z.string().min(1).meta({ format: 'uuid', description: 'The policy to be evaluated' }),
  requested_token_type: z.literal(ACCESS_TOKEN_TYPE).optional(),
  scope: z.literal(SCOPE).optional(),
  audience: z.string().optional().meta({ description: 'Ignored' }),
  resource: z.string().optional().meta({ description: 'Ignored' }),
})

export const exchangedToken = z
  .strictObject({
    access_token: z.string(),
    issued_token_type: z.literal(ACCESS_TOKEN_TYPE),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(1).max(900).meta({ description: 'Seconds' }),
    scope: z.literal(SCOPE),
  })
  .meta({ id: 'AccessToken' })

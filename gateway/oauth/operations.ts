import { ExchangeTokenRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { form } from '../kinds.ts'
import { operation } from '../operation.ts'
import { ACCESS_TOKEN_TYPE, exchangedToken, exchangeForm, keySet, SCOPE, SERVED, serverMetadata } from './schemas.ts'

/** Longest token of an identity provider, in characters. */
const { most: MOST_CHARACTERS } = limitOf(ExchangeTokenRequestSchema.field.subjectToken)

/** Three parts in base64url; the signature of a token that has none is empty. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Refuses, with BODY_INVALID, a token or an id that cannot be one; nothing was read from a store by then. */
function requireShape(form: { readonly subject_token: string; readonly federation_policy_id: string }): void {
  const { subject_token: token, federation_policy_id: policyId } = form
  if (token.length > MOST_CHARACTERS) throw invalid('subject_token', `must have at most ${MOST_CHARACTERS} characters`)
  if (!JWT.test(token)) throw invalid('subject_token', 'is not a JWT')
  if (!UUID.test(policyId)) throw invalid('federation_policy_id', 'is not a UUID')
}

function invalid(field: string, problem: string): Rejection {
  return new Rejection('BODY_INVALID', { field, problem })
}

const JWKS_PATH = '/api/v1/oauth/jwks'
const TOKEN_PATH = '/api/v1/oauth/token'
const P_256 = { kty: 'EC', crv: 'P-256' } as const
const ES256 = { alg: 'ES256', use: 'sig' } as const
/** What the metadata says changes with settings only. In seconds. */
const METADATA_MAX_AGE = 300

/** Of a form, in bytes. */
const MOST_BYTES = 32_768

export const exchangeToken = operation({
  id: 'oauth.exchange',
  method: 'post',
  path: TOKEN_PATH,
  summary: 'Exchanges a token of a trusted issuer for an access token (RFC 8693)',
  description:
    'The subject token is the credential; an Authorization header is ignored. Every parameter may be given once, an empty one counts ' +
    'as absent, and unknown ones are ignored. Whatever prevents a token from being accepted, the response is the same.',
  counted: true,
  body: form(exchangeForm),
  limit: MOST_BYTES,
  answer: exchangedToken,
  errors: ['GRANT_REFUSED', 'SUBJECT_TOKEN_INVALID', 'ISSUER_KEYS_UNAVAILABLE', 'SIGNING_UNAVAILABLE'],
  async handle({ federation }, { body, call }) {
    requireShape(body)
    const { federation_policy_id: policyId, subject_token: subjectToken } = body
    const request = {
      federationPolicyId: policyId.toLowerCase(),
      subjectToken,
      clientNetwork: call.clientNetwork(),
    }
    const exchanged = await federation.exchangeToken(request, call.options())
    call.headers.push('pragma', 'no-cache')
    return exchanged
  },
  present: ({ accessToken, expiresInSeconds }) => ({
    access_token: accessToken,
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope: SCOPE,
  }),
})

export const listSigningKeys = operation({
  id: 'oauth.keys',
  method: 'get',
  path: JWKS_PATH,
  summary: 'The public keys that verify access tokens, as a JSON Web Key Set',
  answer: keySet,
  errors: ['SIGNING_UNAVAILABLE'],
  async handle({ federation }, { call }) {
    const { keys, maxAgeSeconds } = await federation.listSigningKeys({}, call.options())
    call.maxAge = maxAgeSeconds
    return keys
  },
  present: (keys) => ({ keys: keys.map(({ kid, x, y }) => ({ ...P_256, kid, x, y, ...ES256 })) }),
})

export const getServerMetadata = operation({
  id: 'oauth.metadata',
  method: 'get',
  path: '/.well-known/oauth-authorization-server',
  summary: 'The token endpoint and its capabilities (RFC 8414)',
  answer: serverMetadata,
  handle(_, { call, facade: { config, urls } }) {
    call.maxAge = METADATA_MAX_AGE
    return config.publicOrigin ?? urls()[0] ?? ''
  },
  present: (issuer) => ({
    issuer,
    token_endpoint: `${issuer}${TOKEN_PATH}`,
    jwks_uri: `${issuer}${JWKS_PATH}`,
    ...SERVED,
  }),
})

import { ANYBODY } from '../credentials.ts'
import { operation } from '../operation.ts'
import { keySet, SERVED, serverMetadata } from './schemas.ts'

const JWKS_PATH = '/api/v1/oauth/jwks'
const TOKEN_PATH = '/api/v1/oauth/token'
const P_256 = { kty: 'EC', crv: 'P-256' } as const
const ES256 = { alg: 'ES256', use: 'sig' } as const
/** What the metadata says changes with settings only. In seconds. */
const METADATA_MAX_AGE = 300

export const listSigningKeys = operation({
  id: 'oauth.keys',
  method: 'get',
  path: JWKS_PATH,
  family: 'gateway',
  credentials: ANYBODY,
  summary: 'The public keys that access tokens are verified with, as a JSON Web Key Set',
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
  family: 'oauth',
  credentials: ANYBODY,
  summary: 'Where tokens are exchanged, and what is served (RFC 8414)',
  answer: serverMetadata,
  errors: [],
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

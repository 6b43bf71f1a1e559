import { hash, timingSafeEqual } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Request, Response } from 'express'
import { Principal_Kind, type Principal as ProtoPrincipal } from '#gen/portico/identity/v1/identity_pb.js'
import type { AuthenticateRequestSchema } from '#gen/portico/identity/v1/identity_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Principal, PrincipalKind } from '#shared/rpc/call-context.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { type Call, callOf, DEADLINE_MS } from '../call.ts'
import type { Config } from '../config.ts'
import { isAccessToken, OF_SESSIONS } from '../credentials.ts'
import { BEARER_CHALLENGE } from '../errors/challenge.ts'
import type { Facade } from '../facade.ts'
import { isAnthropics, secondPath } from '../family.ts'
import { beginGeneration } from '../generation/router-metadata.ts'
import { isLoopbackHost, requireAllowedOrigin, requireOwnHost } from '../http/request-checks.ts'
import type { Operation } from '../operation.ts'
import type { WrongKeys } from './wrong-keys.ts'

const BASIC_CHALLENGE = 'Basic realm="Secure Area"'
/** In characters. */
const MAX_KEY_LENGTH = 512
const MAX_TOKEN_LENGTH = 8_192
const BEARER_MISSING = 'the header Authorization must begin with Bearer'
const LOCAL_OPERATOR = { case: 'localOperator', value: {} } as const

/** Paths of some operations, wherever they are served. */
function pathsOf(operations: readonly Operation[]): ReadonlySet<string | undefined> {
  return new Set(operations.flatMap(({ path }) => [path, secondPath(path)]))
}

/**
 * Authenticates each request: `/api/v1` by an API key or an access token, `/api` as PORTICO_AUTH says, and skips
 * everything that needs no credential, such as the token endpoint. The state of a key, also of the key behind an access
 * token, is read on each request. A client that has sent many wrong credentials gets WRONG_KEYS for further wrong ones.
 * A refused request for a generation has a generation id, too.
 */
export function authenticate(facade: Facade, operations: readonly Operation[], wrongKeys: WrongKeys) {
  const { config } = facade
  const open = pathsOf(operations.filter(({ credentials }) => credentials.length === 0))
  const generating = pathsOf(operations.filter(({ generates }) => generates))
  return async function authenticateRequest(request: Request, response: Response): Promise<void> {
    const call = callOf(response)
    const gateway = call.family === 'gateway' || call.family === 'messages'
    if (!gateway && (call.family !== 'instance' || !request.path.startsWith('/api'))) return
    if (open.has(request.path)) return
    try {
      requireOneAuthorization(request)
      if (gateway) await byBearer(facade, call, request)
      else await byMode(facade, config.auth, call, request)
    } catch (error) {
      if (request.method === 'POST' && generating.has(request.path)) beginGeneration(call, facade, request.headers)
      const { reason, metadata } = (error instanceof Rejection ? error : reasonOf(error)) ?? {}
      // An expired token was not guessed: its holder only has to get a new one.
      const wrong = reason === 'CREDENTIAL_REFUSED' && metadata?.ours === undefined
      const seconds = wrong ? wrongKeys.add(call.clientNetwork()) : undefined
      throw seconds === undefined ? error : new Rejection('WRONG_KEYS', { retry_after: String(seconds) })
    }
  }
}

/** Who is calling must not depend on which of two headers is read. */
function requireOneAuthorization({ headers, rawHeaders }: Request): void {
  if (headers.authorization === undefined) return
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'authorization') count += 1
  }
  if (count > 1) throw new Rejection('HEADER_INVALID', { field: 'authorization', problem: 'must be given only once' })
}

async function byMode(facade: Facade, auth: Config['auth'], call: Call, request: Request): Promise<void> {
  switch (auth.mode) {
    case 'none':
      requireOwnHost(request)
      requireAllowedOrigin(request, facade.config.corsOrigins, isLoopbackHost)
      return identify(facade, call, LOCAL_OPERATOR)
    case 'basic':
      // Browsers send a remembered password with requests by any page.
      requireAllowedOrigin(request, facade.config.corsOrigins)
      requirePassword(request, auth)
      return identify(facade, call, LOCAL_OPERATOR)
    case 'bearer':
      await byBearer(facade, call, request)
      call.requireOneOf(OF_SESSIONS)
  }
}

/** On the paths that Anthropic's clients call, `x-api-key` stands for the usual header. */
function authorizationOf({ family }: Call, { headers, path }: Request): string | undefined {
  const { authorization, 'x-api-key': key } = headers
  // Clients send an empty one where they were given another credential.
  const isLeftOut = key === undefined || (key === '' && authorization !== undefined)
  if (isLeftOut || !isAnthropics(family, path)) return authorization
  const bearer = `Bearer ${String(key)}`
  if (authorization === undefined || authorization === bearer) return bearer
  throw new Rejection('HEADER_INVALID', { field: 'x-api-key', problem: 'must be the key of the header authorization' })
}

async function byBearer(facade: Facade, call: Call, request: Request): Promise<void> {
  const header = authorizationOf(call, request)
  if (header === undefined) throw new Rejection('AUTH_MISSING', { challenge: BEARER_CHALLENGE })
  const credential = /^Bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1]
  // For a credential of another scheme, the challenge names no error (RFC 6750 section 3.1).
  if (!/^Bearer(?: |$)/i.test(header)) {
    throw new Rejection('CREDENTIAL_REFUSED', { challenge: BEARER_CHALLENGE, hint: BEARER_MISSING })
  }
  if (credential === undefined) throw new Rejection('CREDENTIAL_REFUSED')
  const isToken = isAccessToken(credential)
  if (credential.length > (isToken ? MAX_TOKEN_LENGTH : MAX_KEY_LENGTH)) throw new Rejection('CREDENTIAL_REFUSED')
  await identify(facade, call, { case: isToken ? 'accessToken' : 'apiKey', value: credential })
}

/** The caller's credential, as identity takes it. */
type CredentialInit = NonNullable<MessageInitShape<typeof AuthenticateRequestSchema>['credential']>

async function identify(facade: Facade, call: Call, credential: CredentialInit): Promise<void> {
  const { identity } = facade.clients
  const { principal, terms } = await identity.authenticate({ credential }, call.options())
  if (principal === undefined) throw new Error('identity returned no principal')
  call.principal = fromProto(principal)
  call.terms = terms
  call.credential = credential.case === 'accessToken' ? 'access-token' : call.principal.kind
  if (credential.case === 'localOperator') return
  const again = () => identity.authenticate({ credential }, call.options({ timeoutMs: DEADLINE_MS }))
  call.reauthenticate = again
}

const kinds = enumTable<PrincipalKind, Principal_Kind>({
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
  'local-operator': Principal_Kind.LOCAL_OPERATOR,
})

function fromProto({ organizationId, workspaceId, apiKeyId = '', kind }: ProtoPrincipal): Principal {
  const name = kinds.fromProto(kind)
  if (name === undefined) throw new Error(`identity returned an unknown kind of principal: ${kind}`)
  return { organizationId, workspaceId, apiKeyId, kind: name }
}

function requirePassword(request: Request, expected: { readonly username: string; readonly password: string }): void {
  const header = request.headers.authorization
  if (header === undefined) throw new Rejection('AUTH_MISSING', { challenge: BASIC_CHALLENGE })
  const encoded = /^Basic +([\w+/]+={0,2}) *$/i.exec(header)?.[1]
  const credentials = Buffer.from(encoded ?? '', 'base64').toString('utf8')
  // Digests have equal length, so that the comparison takes the same time whatever was sent.
  const same = timingSafeEqual(digest(credentials), digest(`${expected.username}:${expected.password}`))
  if (encoded === undefined || !same) throw new Rejection('CREDENTIAL_REFUSED', { challenge: BASIC_CHALLENGE })
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

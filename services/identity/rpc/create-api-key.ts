import type { ServiceImpl } from '@connectrpc/connect'
import {
  type CreateApiKeyRequest,
  CreateApiKeyRequestSchema,
  type IdentityService,
} from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { type ApiKey, prefixOf } from '../domain/api-key.ts'
import { NO_TERMS } from '../domain/key-terms.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { hashOf, newSecret } from '../run/secret.ts'
import { apiKeyToProto, keyKindFromProto } from './convert.ts'
import { parseTerms } from './key-terms.ts'
import { byOf, managerOf, manages, parseExpiry } from './parse.ts'

const checkRequest = checkLimits(CreateApiKeyRequestSchema)

/** Creates a key in the caller's workspace. Its secret is in this response and nowhere else. */
export function createApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['createApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const manager = managerOf(context)
    const by = byOf(manager, clock)
    const parsed = parseCreateApiKey(request, by.time)
    if (!manages(manager, parsed.kind)) throw new Rejection('OPERATOR_REQUIRED')
    const secret = newSecret(parsed.kind)
    const kept = { hash: hashOf(secret), prefix: prefixOf(secret), timeCreated: by.time }
    const apiKey = await store.createKey(manager.workspaceId, { ...parsed, ...kept, id: randomId('key') }, by)
    return { apiKey: apiKeyToProto(apiKey), secret }
  }
}

function parseCreateApiKey(
  request: CreateApiKeyRequest,
  now: number,
): Pick<ApiKey, 'kind' | 'name' | 'terms' | 'timeExpires'> {
  checkRequest(request)
  const kind = keyKindFromProto(request.kind)
  check(kind !== undefined, 'kind', 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT')
  const terms = request.terms === undefined ? NO_TERMS : parseTerms(request.terms)
  return { kind, name: request.name, terms, timeExpires: parseExpiry(request.expireTime, now) }
}

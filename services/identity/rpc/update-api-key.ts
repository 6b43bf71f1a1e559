import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type IdentityService,
  type UpdateApiKeyRequest,
  UpdateApiKeyRequestSchema,
} from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import type { ApiKey } from '../domain/api-key.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { apiKeyToProto } from './convert.ts'
import { parseTerms, termsToProto } from './key-terms.ts'
import { byOf, managerOf, parseExpiry, requireManagedKey } from './parse.ts'
import { requireMask, withFields } from './update-mask.ts'

const IN_TERMS = 'terms.'
const TERMS = KeyTermsSchema.fields.map(({ name }) => name).filter((name) => name !== 'workspace_limit_nanos')
const FIELDS = ['disabled', 'name', 'expire_time', ...TERMS.map((name) => `${IN_TERMS}${name}`)]
const checkRequest = checkLimits(UpdateApiKeyRequestSchema)

/** Changes a key of the caller's workspace, which takes effect with the next read. */
export function updateApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['updateApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const manager = managerOf(context)
    const { key: before } = await requireManagedKey(store, manager, request.keyId)
    const by = byOf(manager, clock)
    const decide = deciderOf(request, by.time)
    const key = await store.reviseKey(manager.workspaceId, before.id, decide, by)
    if (key === undefined) throw new Rejection('API_KEY_NOT_FOUND', { key_id: before.id })
    return { apiKey: apiKeyToProto(key) }
  }
}

function deciderOf(request: UpdateApiKeyRequest, now: number): (key: ApiKey) => ApiKey {
  const paths = requireMask(request.updateMask, FIELDS)
  const ofTerms = paths.filter((path) => path.startsWith(IN_TERMS)).map((path) => path.slice(IN_TERMS.length))
  if (paths.includes('name')) checkRequest(request)
  const changes: Partial<ApiKey> = {
    ...(paths.includes('disabled') && { disabled: request.disabled }),
    ...(paths.includes('name') && { name: request.name }),
    ...(paths.includes('expire_time') && { timeExpires: parseExpiry(request.expireTime, now) }),
  }
  if (ofTerms.length === 0) return (key) => ({ ...key, ...changes })
  const terms = request.terms ?? create(KeyTermsSchema)
  return (key) => {
    const current = termsToProto(key.terms, undefined)
    return { ...key, ...changes, terms: parseTerms(withFields(KeyTermsSchema, current, terms, ofTerms)) }
  }
}

import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { CreateApiKeyRequest, IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { check, parseText } from '#shared/rpc/parse.ts'
import { type ApiKey, prefixOf } from '../domain/api-key.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { hashOf, newSecret } from '../run/secret.ts'
import { apiKeyToProto, keyKindFromProto } from './convert.ts'
import { byOf, managerOf } from './parse.ts'

const MAX_NAME_LENGTH = 256
/** The end of the year 9999, the last that a protobuf timestamp can name. */
const MAX_TIME = 253_402_300_799_999

/** Makes a key in the caller's workspace. Its secret is in this answer and nowhere else. */
export function createApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['createApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const manager = managerOf(context)
    const by = byOf(manager, clock)
    const parsed = parseCreateApiKey(request, by.time)
    const secret = newSecret(parsed.kind)
    const kept = { hash: hashOf(secret), prefix: prefixOf(secret), timeCreated: by.time }
    const apiKey = await store.createKey(manager.workspaceId, { ...parsed, ...kept, id: randomId('key') }, by)
    return { apiKey: apiKeyToProto(apiKey), secret }
  }
}

function parseCreateApiKey(request: CreateApiKeyRequest, now: number): Pick<ApiKey, 'kind' | 'name' | 'timeExpires'> {
  const kind = keyKindFromProto(request.kind)
  check(kind !== undefined, 'kind', 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT')
  const name = parseText('name', request.name, 1, MAX_NAME_LENGTH)
  const timeExpires = request.expireTime && timestampMs(request.expireTime)
  const inTime = timeExpires === undefined || (timeExpires > now && timeExpires <= MAX_TIME)
  check(inTime, 'expire_time', 'must be in the future')
  return { kind, name, timeExpires }
}

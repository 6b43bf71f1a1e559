import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { CreateApiKeyRequest, IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { type ApiKey, prefixOf } from '../domain/api-key.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { hashOf, newSecret } from '../run/secret.ts'
import { fromApiKey, toKeyKind } from './convert.ts'
import { invalid, managerOf } from './parse.ts'

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
    const { workspaceId } = managerOf(context)
    const now = clock.now()
    const parsed = parseCreateApiKey(request, now)
    const secret = newSecret(parsed.kind)
    const apiKey = await store.createKey(workspaceId, {
      ...parsed,
      id: randomId('key'),
      hash: hashOf(secret),
      prefix: prefixOf(secret),
      timeCreated: now,
    })
    return { apiKey: fromApiKey(apiKey), secret }
  }
}

function parseCreateApiKey(request: CreateApiKeyRequest, now: number): Pick<ApiKey, 'kind' | 'name' | 'timeExpires'> {
  const kind = toKeyKind(request.kind)
  if (kind === undefined) throw invalid('kind', 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT')
  const { name, expireTime } = request
  const length = [...name].length
  if (length < 1 || length > MAX_NAME_LENGTH) throw invalid('name', `must have 1 to ${MAX_NAME_LENGTH} characters`)
  const timeExpires = expireTime && timestampMs(expireTime)
  if (timeExpires !== undefined && !(timeExpires > now && timeExpires <= MAX_TIME)) {
    throw invalid('expire_time', 'must be in the future')
  }
  return { kind, name, timeExpires }
}

import type { ServiceImpl } from '@connectrpc/connect'
import { type IdentityService, ListApiKeysRequestSchema } from '#gen/portico/identity/v1/identity_service_pb.js'
import { pageSizeParser } from '#shared/page-size.ts'
import { decodePageToken, encodePageToken } from '#shared/page-token.ts'
import { check } from '#shared/rpc/parse.ts'
import { API_KEY_KINDS } from '../domain/api-key.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { apiKeyToProto, keyKindFromProto } from './convert.ts'
import { managerOf, manages } from './parse.ts'

const parsePageSize = pageSizeParser(ListApiKeysRequestSchema)

/** Lists the keys of the caller's workspace that the caller manages, oldest first. */
export function listApiKeys(dependencies: {
  readonly store: IdentityStore
}): ServiceImpl<typeof IdentityService>['listApiKeys'] {
  const { store } = dependencies
  return async ({ pageSize, pageToken, offset, kinds: only, enabledOnly }, context) => {
    const manager = managerOf(context)
    const { workspaceId } = manager
    const limit = parsePageSize(pageSize)
    const scope = `api-keys ${workspaceId}`
    const after = pageToken === undefined ? 0 : decodePageToken(scope, pageToken, isSeq)
    check(offset >= 0, 'offset', 'must not be negative')
    const kinds =
      only.length === 0
        ? API_KEY_KINDS.filter((kind) => manages(manager, kind))
        : only.map((message) => {
            const kind = keyKindFromProto(message)
            const isManaged = kind !== undefined && manages(manager, kind)
            check(isManaged, 'kinds', 'must be KIND_WORKSPACE or KIND_PERSONAL, or, for the operator, KIND_MANAGEMENT')
            return kind
          })
    const { items, more } = await store.listKeys(workspaceId, { after, offset, limit, kinds, enabledOnly })
    const last = more ? items.at(-1) : undefined
    return {
      apiKeys: items.map(({ key }) => apiKeyToProto(key)),
      nextPageToken: last && encodePageToken(scope, last.seq),
    }
  }
}

function isSeq(payload: unknown): payload is number {
  return Number.isSafeInteger(payload) && (payload as number) > 0
}

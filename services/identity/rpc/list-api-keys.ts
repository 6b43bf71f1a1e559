import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { decodePageToken, encodePageToken } from '#shared/page-token.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { fromApiKey } from './convert.ts'
import { invalid, managerOf } from './parse.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 100

/** Lists the keys of the caller's workspace, oldest first. */
export function listApiKeys(dependencies: {
  readonly store: IdentityStore
}): ServiceImpl<typeof IdentityService>['listApiKeys'] {
  const { store } = dependencies
  return async ({ pageSize, pageToken }, context) => {
    const { workspaceId } = managerOf(context)
    const limit = parsePageSize(pageSize)
    const scope = `api-keys ${workspaceId}`
    const after = pageToken === '' ? 0 : decodePageToken(scope, pageToken, isSeq)
    const { items, more } = await store.listKeys(workspaceId, after, limit)
    const last = more ? items.at(-1) : undefined
    return {
      apiKeys: items.map(({ key }) => fromApiKey(key)),
      nextPageToken: last === undefined ? '' : encodePageToken(scope, last.seq),
    }
  }
}

function parsePageSize(pageSize: number): number {
  if (pageSize < 0) throw invalid('page_size', 'must not be negative')
  return Math.min(pageSize === 0 ? DEFAULT_PAGE_SIZE : pageSize, MAX_PAGE_SIZE)
}

function isSeq(payload: unknown): payload is number {
  return Number.isSafeInteger(payload) && (payload as number) > 0
}

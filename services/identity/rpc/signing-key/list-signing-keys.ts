import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { KEY_SET_MAX_AGE_MS } from '#services/identity/domain/signing-key.ts'
import type { KeyRing } from '#services/identity/run/access-token/key-ring.ts'
import { Rejection } from '#shared/rejection.ts'

/** Lists the public keys that verify access tokens; they are read from the store for each call. */
export function listSigningKeys(dependencies: {
  readonly ring: KeyRing
}): ServiceImpl<typeof FederationService>['listSigningKeys'] {
  const { ring } = dependencies
  return async () => {
    const keys = await ring.published()
    if (keys.length === 0) throw new Rejection('SIGNING_UNAVAILABLE')
    return { keys: keys.map(({ kid, x, y }) => ({ kid, x, y })), maxAgeSeconds: KEY_SET_MAX_AGE_MS / 1_000 }
  }
}

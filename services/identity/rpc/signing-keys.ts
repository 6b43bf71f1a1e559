import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { KEY_SET_MAX_AGE_MS } from '../domain/signing-key.ts'
import type { KeyRing } from '../run/access-token/key-ring.ts'
import { operatorOf } from './callers.ts'

/** The keys that sign access tokens. */
export function signingKeys({ ring }: { readonly ring: KeyRing }) {
  return {
    /** They are read from the store for each call. */
    async listSigningKeys() {
      const keys = await ring.published()
      if (keys.length === 0) throw new Rejection('SIGNING_UNAVAILABLE')
      return { keys: keys.map(({ kid, x, y }) => ({ kid, x, y })), maxAgeSeconds: KEY_SET_MAX_AGE_MS / 1_000 }
    },

    /** The next key signs once it has been published for long enough. */
    async rotateSigningKey(_, context) {
      operatorOf(context)
      const { kid, x, y, timeUsed } = await ring.rotate()
      return { next: { kid, x, y }, useTime: timeUsed }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { KeyRing } from '#services/identity/run/access-token/key-ring.ts'
import { operatorOf } from '../parse.ts'

/** Creates the next signing key, unless there is one already; it signs once it has been published for long enough. */
export function rotateSigningKey(dependencies: {
  readonly ring: KeyRing
}): ServiceImpl<typeof FederationService>['rotateSigningKey'] {
  const { ring } = dependencies
  return async (_, context) => {
    operatorOf(context)
    const { kid, x, y, timeUsed } = await ring.rotate()
    return { next: { kid, x, y }, useTime: timestampFromMs(timeUsed) }
  }
}

import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { KeyRing } from '#services/identity/run/access-token/key-ring.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Makes the next signing key unless there is one already; it signs once it has been published for long enough. */
export function rotateSigningKey(dependencies: {
  readonly ring: KeyRing
}): ServiceImpl<typeof FederationService>['rotateSigningKey'] {
  const { ring } = dependencies
  return async (_, context) => {
    if (principalOf(context).kind !== 'local-operator') throw new Rejection('OPERATOR_REQUIRED')
    const { kid, x, y, timeUsed } = await ring.rotate()
    return { next: { kid, x, y }, useTime: timestampFromMs(timeUsed) }
  }
}

import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { Clock } from '#shared/clock.ts'
import { revisePolicy } from './revise-policy.ts'

/** Pauses a policy, which refuses from the next exchange on. Pausing it again is not an error. */
export function pausePolicy(dependencies: {
  readonly federation: FederationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['pausePolicy'] {
  return (request, context) => revisePolicy(dependencies, request, context, (policy) => ({ ...policy, enabled: false }))
}

import type { ServiceImpl } from '@connectrpc/connect'
import {
  CountExchangesRequestSchema,
  type FederationService,
  RecentExchangesSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { type ExchangeCounts, INTERVAL_MS } from '#services/identity/ports/exchange-counts.ts'
import type { Clock } from '#shared/clock.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'

const checkRequest = checkLimits(CountExchangesRequestSchema)
const checkRecent = checkLimits(RecentExchangesSchema)

/** Counts exchanges for all gateways together, by the wall clock, which is all that processes have in common. */
export function countExchanges(dependencies: {
  readonly exchangeCounts: ExchangeCounts
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['countExchanges'] {
  const { exchangeCounts, clock } = dependencies
  return async (request) => {
    checkRequest(request)
    for (const [i, recent] of request.admitted.entries()) checkRecent(recent, `admitted[${i}]`)
    const totals = await exchangeCounts.add(Math.floor(clock.now() / INTERVAL_MS), request.admitted)
    return { totals: totals.map(({ network, counts }) => ({ network, counts: [...counts] })) }
  }
}

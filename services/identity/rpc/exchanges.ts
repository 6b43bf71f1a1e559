import type { ServiceImpl } from '@connectrpc/connect'
import {
  CountExchangesRequestSchema,
  ExchangeTokenRequestSchema,
  type FederationService,
  RecentExchangesSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { type ExchangeCounts, INTERVAL_MS } from '../ports/exchange-counts.ts'
import type { Exchange } from '../run/exchange/exchange.ts'

const checkExchange = checkLimits(ExchangeTokenRequestSchema)
const checkCount = checkLimits(CountExchangesRequestSchema)
const checkRecent = checkLimits(RecentExchangesSchema)

/** Exchanges of subject tokens for access tokens, for which no other credential is required. */
export function exchanges(dependencies: {
  readonly exchange: Pick<Exchange, 'exchange'>
  readonly exchangeCounts: ExchangeCounts
  readonly clock: Clock
}) {
  const { exchange, exchangeCounts, clock } = dependencies
  return {
    async exchangeToken(request, context) {
      checkExchange(request)
      const { federationPolicyId: policyId, subjectToken, clientNetwork } = request
      // The signal is only created when it is first read, which most exchanges never do.
      const throwIfGone = (): void => context.signal.throwIfAborted()
      const { token, expiresIn } = await exchange.exchange({ policyId, subjectToken, clientNetwork, throwIfGone })
      return { accessToken: token, expiresInSeconds: expiresIn }
    },

    /** Counts for all gateways together, by the wall clock, which is all that processes have in common. */
    async countExchanges(request) {
      checkCount(request)
      for (const [i, counts] of request.admitted.entries()) checkRecent(counts, `admitted[${i}]`)
      return { totals: await exchangeCounts.add(Math.floor(clock.now() / INTERVAL_MS), request.admitted) }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

import type { ServiceImpl } from '@connectrpc/connect'
import { ExchangeTokenRequestSchema, type FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Exchange } from '#services/identity/run/exchange/exchange.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'

const checkRequest = checkLimits(ExchangeTokenRequestSchema)

/** Exchanges a subject token for an access token; no other credential is required. */
export function exchangeToken({
  exchange,
}: {
  readonly exchange: Exchange
}): ServiceImpl<typeof FederationService>['exchangeToken'] {
  return async (request, context) => {
    checkRequest(request)
    const { federationPolicyId: policyId, subjectToken, clientNetwork } = request
    // The signal is only created when it is first read, which most exchanges never do.
    const throwIfGone = (): void => context.signal.throwIfAborted()
    const { token, expiresIn } = await exchange.exchange({ policyId, subjectToken, clientNetwork, throwIfGone })
    return { accessToken: token, expiresInSeconds: expiresIn }
  }
}

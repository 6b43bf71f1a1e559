import type { ServiceImpl } from '@connectrpc/connect'
import { GetKeyUsageRequestSchema, type UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { Ledger } from '#services/inference/ports/ledger.ts'
import type { RowCloser } from '#services/inference/run/row-closer.ts'
import type { Clock } from '#shared/clock.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { spendingToProto } from './convert.ts'

const checkRequest = checkLimits(GetKeyUsageRequestSchema)

/** Gets what keys used; see usage_service.proto. */
export function getKeyUsage(dependencies: {
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly clock: Clock
}): ServiceImpl<typeof UsageService>['getKeyUsage'] {
  const { ledger, closer, clock } = dependencies
  return async (request, context) => {
    checkRequest(request)
    const { workspaceId } = principalOf(context)
    await closer.settled(workspaceId, ({ apiKeyId }) => request.keyIds.includes(apiKeyId))
    const accounts = await ledger.accounts(workspaceId, request.keyIds)
    const keys = request.keyIds.map((keyId, i) => {
      return { keyId, spending: spendingToProto(accounts[i] ?? EMPTY_ACCOUNT, clock.now()) }
    })
    return { keys }
  }
}

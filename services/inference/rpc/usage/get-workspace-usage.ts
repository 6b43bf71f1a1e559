import type { ServiceImpl } from '@connectrpc/connect'
import type { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Ledger } from '#services/inference/ports/ledger.ts'
import type { RowCloser } from '#services/inference/run/row-closer.ts'
import type { Clock } from '#shared/clock.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { spendingToProto } from './convert.ts'

/** Gets what all keys of the workspace used; see usage_service.proto. */
export function getWorkspaceUsage(dependencies: {
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly clock: Clock
}): ServiceImpl<typeof UsageService>['getWorkspaceUsage'] {
  const { ledger, closer, clock } = dependencies
  return async (_, context) => {
    const { workspaceId } = principalOf(context)
    await closer.settled(workspaceId, () => true)
    return { spending: spendingToProto(await ledger.workspaceAccount(workspaceId), clock.now()) }
  }
}

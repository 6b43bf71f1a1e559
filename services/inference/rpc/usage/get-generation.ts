import type { ServiceImpl } from '@connectrpc/connect'
import { GetGenerationRequestSchema, type UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { ClosedEntry, Ledger, LedgerEntry } from '#services/inference/ports/ledger.ts'
import type { RowCloser } from '#services/inference/run/row-closer.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { recordToProto } from './convert.ts'

const checkRequest = checkLimits(GetGenerationRequestSchema)

/** Gets the row of a generation that has ended; see usage_service.proto. */
export function getGeneration(dependencies: {
  readonly ledger: Ledger
  readonly closer: RowCloser
}): ServiceImpl<typeof UsageService>['getGeneration'] {
  const { ledger, closer } = dependencies
  return async (request, context) => {
    checkRequest(request)
    const { requestId } = request
    const { workspaceId } = principalOf(context)
    const closed = async () => {
      const row = await ledger.get(workspaceId, requestId)
      if (row === undefined) throw new Rejection('GENERATION_NOT_FOUND', { request_id: requestId })
      return isClosed(row) ? row : undefined
    }
    const first = await closed()
    if (first === undefined) await closer.settled(workspaceId, (row) => row.requestId === requestId)
    const row = first ?? (await closed())
    if (row === undefined) throw new Rejection('GENERATION_NOT_FOUND', { request_id: requestId })
    return { generation: recordToProto(row) }
  }
}

function isClosed(row: LedgerEntry): row is ClosedEntry {
  return row.status !== 'open'
}

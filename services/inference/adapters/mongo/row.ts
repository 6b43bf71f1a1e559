import type { GenerationRecord } from '#gen/portico/inference/v1/usage_service_pb.js'
import { difference, type Spent } from '#services/inference/domain/ledger/account.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import { type ledger, spentOf, toRecord } from '../tables/ledger.ts'

export type Row = MongoDocument<typeof ledger, { readonly workspaceId: string; readonly requestId: string }>

export function recordOf(row: Row): GenerationRecord {
  return toRecord(row, Object.fromEntries(row.metadata.map(({ k, v }) => [k, v])))
}

export function spentUnderHold(row: Row): Spent {
  return row.counted === null ? spentOf(row) : difference(row.counted, spentOf(row))
}

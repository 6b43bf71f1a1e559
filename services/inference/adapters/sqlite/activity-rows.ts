import { setImmediate as turn } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { type Activity, ActivitySchema } from '#gen/portico/inference/v1/usage_service_pb.js'
import { dateOf, startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { COUNTED, type Counted } from '../tables/ledger.ts'

/** How many rows are summed at once, in less than a millisecond. */
const PIECE = 200
/** What a sum consists of. */
export const SUMMED = ['requests', ...COUNTED] as const
const FROM = 'FROM ledger WHERE workspaceId = ? AND finishTime >= ? AND (finishTime, requestId) > (?, ?)'
const LAST = `SELECT finishTime, requestId ${FROM} AND finishTime < ? ORDER BY finishTime, requestId LIMIT 1 OFFSET ${PIECE - 1}`
const SUM = `SELECT providerId, modelId, (SELECT value FROM json_each(metadata) WHERE key = ?) AS value,
  count(*) AS requests, ${COUNTED.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  ${FROM} AND (finishTime, requestId) <= (?, ?) AND finishTime < ? AND (? IS NULL OR apiKeyId = ?) GROUP BY 1, 2, 3`

/** Greater than the id of any request. */
const NO_MORE = '\u{10ffff}'

/** The last row of a batch. */
interface End {
  readonly finishTime: number
  readonly requestId: string
}

/** A sum, which must be read with bigints. Rows without usage have no sum of tokens. */
export interface SumRow extends Record<'requests' | Counted, bigint | null> {
  readonly providerId: string
  readonly modelId: string
  readonly value: string | null
}

/** Sums the rows of a query by their metadata, in small batches, so that writes do not have to wait. */
export async function sumByMetadata(file: SqliteFile, query: ActivityQuery): Promise<Activity[]> {
  const { workspaceId, day, keyId = null, metadataKey = null } = query
  const start = startOfDay(day)
  const end = startOfDay(day + 1)
  const sums = new Map<string, SumRow>()
  const last = file.statement(LAST)
  const sum = file.statement(SUM)
  last.setReadBigInts(false)
  sum.setReadBigInts(true)
  for (let from: readonly [number, string] | undefined = [start, '']; from !== undefined; ) {
    const next = last.get(workspaceId, from[0], ...from, end) as End | undefined
    const to = [next?.finishTime ?? end, next?.requestId ?? NO_MORE] as const
    const rows: unknown[] = sum.all(metadataKey, workspaceId, from[0], ...from, ...to, end, keyId, keyId)
    for (const row of rows as SumRow[]) {
      const name = JSON.stringify([row.providerId, row.modelId, row.value])
      const before = sums.get(name)
      if (before === undefined) sums.set(name, row)
      else for (const each of SUMMED) before[each] = (before[each] ?? 0n) + (row[each] ?? 0n)
    }
    from = next && to
    await turn()
  }
  return [...sums.values()].sort(byPlace).map((row) => toActivity(row, day))
}

export function toActivity(row: SumRow, day: number): Activity {
  const { providerId, modelId, value, requests, costNanos } = row
  return create(ActivitySchema, {
    date: dateOf(day),
    providerId,
    modelId,
    metadataValue: value ?? undefined,
    requestCount: Number(requests),
    usage: create(UsageSchema, Object.fromEntries(COUNTED.map((name) => [name, row[name] ?? 0n]))),
    costNanos: costNanos ?? 0n,
  })
}

/** By provider, model and value; missing values come first. */
function byPlace(one: SumRow, other: SumRow): number {
  return (
    compare(one.providerId, other.providerId) ||
    compare(one.modelId, other.modelId) ||
    compare(one.value ?? '', other.value ?? '')
  )
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

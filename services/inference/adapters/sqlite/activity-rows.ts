import { setImmediate as turn } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery, ActivitySum } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** How many rows are summed at once, in less than a millisecond. */
const PIECE = 200
const FROM = 'FROM ledger WHERE workspace = ? AND finished_at >= ? AND (finished_at, request_id) > (?, ?)'
const LAST = `SELECT finished_at, request_id ${FROM} AND finished_at < ? ORDER BY finished_at, request_id LIMIT 1 OFFSET ${PIECE - 1}`
const SUM = `SELECT provider_id, model_id, (SELECT value FROM json_each(metadata) WHERE key = ?) AS value, count(*) AS requests,
  sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cache_read_tokens) AS cache_read_tokens,
  sum(cache_write_tokens) AS cache_write_tokens, sum(reasoning_tokens) AS reasoning_tokens, sum(cost_nanos) AS cost_nanos
  ${FROM} AND (finished_at, request_id) <= (?, ?) AND finished_at < ? AND (? IS NULL OR api_key_id = ?) GROUP BY 1, 2, 3`

/** Greater than the id of any request. */
const NO_MORE = '\u{10ffff}'

type Row = Readonly<Record<string, unknown>>

/** Sums the rows of a query by their metadata, in small batches, so that writes do not have to wait. */
export async function sumByMetadata(file: SqliteFile, query: ActivityQuery): Promise<ActivitySum[]> {
  const { workspace, day, keyId = null, metadataKey = null } = query
  const start = startOfDay(day)
  const end = startOfDay(day + 1)
  const sums = new Map<string, ActivitySum>()
  const last = file.statement(LAST)
  const sum = file.statement(SUM)
  last.setReadBigInts(false)
  sum.setReadBigInts(true)
  for (let from: readonly [number, string] | undefined = [start, '']; from !== undefined; ) {
    const next = last.get(workspace, from[0], ...from, end) as Row | undefined
    const to =
      next === undefined
        ? ([end, NO_MORE] as const)
        : ([next.finished_at as number, next.request_id as string] as const)
    for (const row of sum.all(metadataKey, workspace, from[0], ...from, ...to, end, keyId, keyId) as Row[]) {
      const one = sumOf(row)
      const name = JSON.stringify([one.providerId, one.modelId, one.metadataValue])
      const before = sums.get(name)
      sums.set(name, before === undefined ? one : together(before, one))
    }
    from = next && to
    await turn()
  }
  return [...sums.values()].sort(byPlace)
}

/** The sum in a row, which must be read with bigints. */
export function sumOf(row: Row): ActivitySum {
  // Rows without usage have no sum.
  const count = (name: string): bigint => (row[name] as bigint | null) ?? 0n
  return {
    providerId: row.provider_id as string,
    modelId: row.model_id as string,
    metadataValue: (row.value as string | null) ?? undefined,
    requestCount: Number(row.requests),
    usage: create(UsageSchema, {
      inputTokens: count('input_tokens'),
      outputTokens: count('output_tokens'),
      cacheReadTokens: count('cache_read_tokens'),
      cacheWriteTokens: count('cache_write_tokens'),
      reasoningTokens: count('reasoning_tokens'),
    }),
    costNanos: count('cost_nanos'),
  }
}

function together(one: ActivitySum, other: ActivitySum): ActivitySum {
  const a = one.usage
  const b = other.usage
  return {
    ...one,
    requestCount: one.requestCount + other.requestCount,
    usage: create(UsageSchema, {
      inputTokens: a.inputTokens + b.inputTokens,
      outputTokens: a.outputTokens + b.outputTokens,
      cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
      cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
      reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    }),
    costNanos: one.costNanos + other.costNanos,
  }
}

/** By provider, model and value; missing values come first. */
function byPlace(one: ActivitySum, other: ActivitySum): number {
  return (
    compare(one.providerId, other.providerId) ||
    compare(one.modelId, other.modelId) ||
    compare(one.metadataValue ?? '', other.metadataValue ?? '')
  )
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

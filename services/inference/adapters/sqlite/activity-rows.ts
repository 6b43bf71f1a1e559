import { startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery, ActivitySum } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

const SUM = `SELECT provider_id, model_id, (SELECT value FROM json_each(metadata) WHERE key = ?) AS value, count(*) AS requests,
  sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
  sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(cost_nanos) AS cost
  FROM ledger WHERE workspace = ? AND finished_at >= ? AND finished_at < ? AND (? IS NULL OR api_key_id = ?)
  GROUP BY provider_id, model_id, value ORDER BY provider_id, model_id, value`

/** Sums the rows of a query. */
export function sumRows(file: SqliteFile, query: ActivityQuery): ActivitySum[] {
  const { workspace, day, keyId = null, metadataKey = null } = query
  const statement = file.statement(SUM)
  statement.setReadBigInts(true)
  const rows = statement.all(metadataKey, workspace, startOfDay(day), startOfDay(day + 1), keyId, keyId)
  return (rows as Record<string, unknown>[]).map((row) => {
    // Of rows without usage alone there is no sum.
    const count = (name: string): bigint => (row[name] as bigint | null) ?? 0n
    return {
      providerId: row.provider_id as string,
      modelId: row.model_id as string,
      metadataValue: (row.value as string | null) ?? undefined,
      requestCount: Number(row.requests),
      usage: {
        inputTokens: count('input'),
        outputTokens: count('output'),
        cacheReadTokens: count('cache_read'),
        cacheWriteTokens: count('cache_write'),
        reasoningTokens: count('reasoning'),
      },
      costNanos: count('cost'),
    }
  })
}

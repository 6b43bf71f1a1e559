import type { Collection } from 'mongodb'
import type { Usage } from '#gen/portico/inference/v1/inference_pb.js'
import { startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery, ActivitySum } from '#services/inference/ports/ledger.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { bigintOf, type Row, usageOf } from './row.ts'

interface Sum extends Record<Exclude<keyof Usage, 'estimated'>, bigint> {
  readonly _id: { readonly providerId: string; readonly modelId: string; readonly value?: string | null }
  readonly requests: number
  readonly costNanos: bigint
}

const TOKENS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** Sums the rows that match a query. */
export async function sumRows(rows: Collection<Row>, query: ActivityQuery): Promise<ActivitySum[]> {
  const { workspace, day, keyId, metadataKey } = query
  const finishedAt = { $gte: new Date(startOfDay(day)), $lt: new Date(startOfDay(day + 1)) }
  const named = { input: { $ifNull: ['$metadata', []] }, cond: { $eq: ['$$this.k', { $literal: metadataKey }] } }
  const value =
    metadataKey === undefined ? {} : { value: { $first: { $map: { input: { $filter: named }, in: '$$this.v' } } } }
  const tokens = Object.fromEntries(TOKENS.map((name) => [name, { $sum: `$usage.${name}` }]))
  const sums = await rows
    .aggregate<Sum>(
      [
        { $match: { workspace, finishedAt, ...(keyId !== undefined && { apiKeyId: keyId }) } },
        {
          $group: {
            _id: { providerId: '$providerId', modelId: '$modelId', ...value },
            requests: { $sum: 1 },
            costNanos: { $sum: '$costNanos' },
            ...tokens,
          },
        },
        { $sort: { _id: 1 } },
      ],
      { maxTimeMS: MAX_TIME_MS, promoteLongs: false },
    )
    .toArray()
  return sums.map(({ _id, requests, costNanos, ...usage }) => ({
    providerId: _id.providerId,
    modelId: _id.modelId,
    metadataValue: _id.value ?? undefined,
    requestCount: Number(requests),
    usage: usageOf(usage),
    costNanos: bigintOf(costNanos),
  }))
}

import { create } from '@bufbuild/protobuf'
import type { Collection } from 'mongodb'
import { UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { type Activity, ActivitySchema } from '#gen/portico/inference/v1/usage_service_pb.js'
import { dateOf, startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery } from '#services/inference/ports/ledger.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { COUNTED, type Counted } from '../tables/ledger.ts'
import type { Row } from './row.ts'

interface Sum extends Record<Counted, bigint | number> {
  readonly _id: { readonly providerId: string; readonly modelId: string; readonly value?: string | null }
  readonly requests: number
}

export async function sumRows(rows: Collection<Row>, query: ActivityQuery): Promise<Activity[]> {
  const { workspaceId, day, keyId, metadataKey } = query
  const finishTime = { $gte: startOfDay(day), $lt: startOfDay(day + 1) }
  const pair = { input: { $ifNull: ['$metadata', []] }, cond: { $eq: ['$$this.k', { $literal: metadataKey }] } }
  const value =
    metadataKey === undefined ? {} : { value: { $first: { $map: { input: { $filter: pair }, in: '$$this.v' } } } }
  const counts = Object.fromEntries(COUNTED.map((name) => [name, { $sum: `$${name}` }]))
  const sums = await rows
    .aggregate<Sum>(
      [
        { $match: { workspaceId, finishTime, ...(keyId !== undefined && { apiKeyId: keyId }) } },
        {
          $group: {
            _id: { providerId: '$providerId', modelId: '$modelId', ...value },
            requests: { $sum: 1 },
            ...counts,
          },
        },
        { $sort: { _id: 1 } },
      ],
      { maxTimeMS: MAX_TIME_MS, useBigInt64: true },
    )
    .toArray()
  return sums.map(({ _id, requests, ...sum }) => {
    // A sum of nothing is a plain number.
    const counts = Object.fromEntries(COUNTED.map((name) => [name, BigInt(sum[name])]))
    return create(ActivitySchema, {
      date: dateOf(day),
      providerId: _id.providerId,
      modelId: _id.modelId,
      metadataValue: _id.value ?? undefined,
      requestCount: requests,
      usage: create(UsageSchema, counts),
      costNanos: counts.costNanos,
    })
  })
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type ActivitySchema,
  GenerationRecord_Status,
  type GenerationRecordSchema,
  type SpendingSchema,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import { type Account, accountAt, startOfDay } from '#services/inference/domain/ledger/account.ts'
import type { ActivitySum, ClosedEntry, LedgerClosing } from '#services/inference/ports/ledger.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'

const statuses = enumTable<LedgerClosing['status'], GenerationRecord_Status>({
  completed: GenerationRecord_Status.COMPLETED,
  failed: GenerationRecord_Status.FAILED,
  aborted: GenerationRecord_Status.ABORTED,
})

export function recordToProto(entry: ClosedEntry): MessageInitShape<typeof GenerationRecordSchema> {
  const { requestId, apiKeyId, origin, status, providerId, modelId, streamed, metadata } = entry
  const { costNanos, costKnown, leftOut, error, startedAt, finishedAt, firstPartMs, usage, finishReason } = entry
  return {
    requestId,
    origin,
    providerId,
    modelId,
    streamed,
    metadata,
    costNanos,
    costKnown,
    status: statuses.toProto(status),
    ...given({
      apiKeyId,
      error,
      sessionId: entry.sessionId,
      user: entry.user,
      rawReason: entry.rawReason,
      serviceTier: entry.serviceTier,
    }),
    ...(entry.preset && { preset: { ...entry.preset } }),
    attribution: entry.attribution,
    usage,
    finishReason,
    leftOut: [...leftOut],
    createTime: timestampFromMs(startedAt),
    ...(finishedAt !== undefined && { finishTime: timestampFromMs(finishedAt) }),
    ...(firstPartMs !== undefined && { firstPartMs: BigInt(firstPartMs) }),
  }
}

export function activityToProto(day: number, sum: ActivitySum): MessageInitShape<typeof ActivitySchema> {
  const { providerId, modelId, metadataValue, requestCount, usage, costNanos } = sum
  return {
    date: new Date(startOfDay(day)).toISOString().slice(0, 10),
    providerId,
    modelId,
    ...(metadataValue !== undefined && { metadataValue }),
    sum: { requestCount: BigInt(requestCount), usage, costNanos },
  }
}

/** What an account has spent as of a time. */
export function spendingToProto(account: Account, now: number): MessageInitShape<typeof SpendingSchema> {
  const { totalNanos, dayNanos, weekNanos, monthNanos, heldNanos } = accountAt(account, now)
  return { totalNanos, dayNanos, weekNanos, monthNanos, reservedNanos: heldNanos }
}

/** The texts that are present. */
function given(texts: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  )
}

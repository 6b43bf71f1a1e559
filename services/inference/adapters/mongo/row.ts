import { create, fromJson, type JsonValue, toJson } from '@bufbuild/protobuf'
import { Long } from 'mongodb'
import { AttributionSchema, type Usage, UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { difference, type Hold, type Spent } from '#services/inference/domain/ledger/account.ts'
import type { MaxCost, Prices } from '#services/inference/domain/ledger/admission.ts'
import type { LedgerClosing, LedgerEntry, LedgerOpening } from '#services/inference/ports/ledger.ts'
import { finishReasonOf, finishWord } from '../finish-reasons.ts'

/** Longs, in the order of their names in Usage; null: unknown. */
type StoredUsage = Readonly<Omit<Usage, '$typeName' | '$unknown'>>

/** A row of the ledger as it is stored. Rows from before accounts lack some members. */
export interface Row extends Omit<LedgerOpening, 'workspace' | 'requestId' | 'preset' | 'attribution' | 'metadata'> {
  readonly _id: { readonly workspace: string; readonly requestId: string }
  readonly workspace: string
  readonly preset: LedgerEntry['preset'] | null
  readonly attribution: JsonValue | null
  /** Here any text may be a name, unlike in a document. */
  readonly metadata: readonly { readonly k: string; readonly v: string }[]
  readonly status: LedgerEntry['status']
  readonly usage: StoredUsage | null
  readonly costNanos: bigint
  readonly costKnown: boolean
  readonly finishReason: string | null
  readonly rawReason: string
  readonly serviceTier: string
  readonly leftOut: readonly string[]
  readonly firstPartMs: number | null
  readonly error: string
  readonly startedAt: Date
  readonly finishedAt: Date | null
  /** The process that opened it. */
  readonly process: string
  /** Name of its hold in the accounts. */
  readonly hold: string
  readonly inputEstimate: bigint
  readonly notedTokens: bigint
  readonly prices: Prices | null
  /** What was counted under another hold when the row was mistaken for lost. */
  readonly counted?: Spent
}

/** An open row. */
export function toRow(
  { workspace, requestId, preset = undefined, attribution = undefined, metadata, ...rest }: LedgerOpening,
  {
    maxCost,
    hold,
    name,
    process,
    now,
  }: {
    readonly maxCost: MaxCost
    readonly hold: Hold
    readonly name: string
    readonly process: string
    readonly now: number
  },
): Row {
  return {
    _id: { workspace, requestId },
    workspace,
    ...rest,
    preset: preset ?? null,
    attribution: attribution === undefined ? null : toJson(AttributionSchema, attribution),
    metadata: Object.entries(metadata).map(([k, v]) => ({ k, v })),
    status: 'open',
    usage: null,
    costNanos: 0n,
    costKnown: false,
    finishReason: null,
    rawReason: '',
    serviceTier: '',
    leftOut: [],
    firstPartMs: null,
    error: '',
    startedAt: new Date(now),
    finishedAt: null,
    process,
    hold: name,
    inputEstimate: hold.inputTokens,
    notedTokens: 0n,
    prices: maxCost.prices ?? null,
  }
}

/** The members that close a row. */
export function toClosed(closing: LedgerClosing, now: number): Partial<Row> {
  const { status, usage = null, costNanos, costKnown, finishReason, rawReason, serviceTier } = closing
  const { leftOut, firstPartMs = null, error } = closing
  return {
    status,
    usage: usage && toStoredUsage(usage),
    costNanos,
    costKnown,
    finishReason: finishWord(finishReason) ?? null,
    rawReason,
    serviceTier,
    leftOut,
    firstPartMs,
    error,
    finishedAt: new Date(now),
  }
}

/** The entry of a row, which must be read without promoting Longs. */
export function fromRow(row: Row): LedgerEntry {
  const { _id, workspace, apiKeyId, origin, sessionId, providerId, modelId, status, error } = row
  return {
    workspace,
    requestId: _id.requestId,
    apiKeyId,
    origin,
    sessionId,
    providerId,
    modelId,
    status,
    error,
    streamed: row.streamed ?? false,
    user: row.user ?? '',
    preset: row.preset ?? undefined,
    attribution: row.attribution === null ? undefined : fromJson(AttributionSchema, row.attribution),
    metadata: Object.fromEntries((row.metadata ?? []).map(({ k, v }) => [k, v])),
    usage: row.usage === null ? undefined : usageOf(row.usage),
    costNanos: bigintOf(row.costNanos),
    costKnown: row.costKnown ?? bigintOf(row.costNanos) > 0n,
    finishReason: finishReasonOf(row.finishReason),
    rawReason: row.rawReason ?? '',
    serviceTier: row.serviceTier ?? '',
    leftOut: row.leftOut ?? [],
    firstPartMs: row.firstPartMs ?? undefined,
    startedAt: row.startedAt.getTime(),
    finishedAt: row.finishedAt?.getTime(),
  }
}

function toStoredUsage({ $typeName: _, ...usage }: Usage): StoredUsage {
  return usage
}

/** Stored usage, or a sum of it. */
export function usageOf(usage: Omit<StoredUsage, 'estimated'> & { readonly estimated?: boolean }): Usage {
  return create(UsageSchema, {
    inputTokens: bigintOf(usage.inputTokens),
    outputTokens: bigintOf(usage.outputTokens),
    cacheReadTokens: bigintOf(usage.cacheReadTokens),
    cacheWriteTokens: bigintOf(usage.cacheWriteTokens),
    reasoningTokens: bigintOf(usage.reasoningTokens),
    estimated: usage.estimated,
  })
}

/** What a closed row counts in accounts, in total. */
export function spentOf({ costNanos, usage }: Pick<Row, 'costNanos' | 'usage'>): Spent {
  return {
    nanos: bigintOf(costNanos),
    inputTokens: bigintOf(usage?.inputTokens),
    outputTokens: bigintOf(usage?.outputTokens),
  }
}

/** What it counts under its hold. */
export function spentUnderHold(row: Row): Spent {
  const { counted } = row
  if (counted === undefined) return spentOf(row)
  const before = {
    nanos: bigintOf(counted.nanos),
    inputTokens: bigintOf(counted.inputTokens),
    outputTokens: bigintOf(counted.outputTokens),
  }
  return difference(before, spentOf(row))
}

/** Stored prices. */
export function pricesOf(prices: Prices | null | undefined): Prices | undefined {
  return prices == null
    ? undefined
    : { inputNanos: bigintOf(prices.inputNanos), outputNanos: bigintOf(prices.outputNanos) }
}

/** The driver writes a bigint as a 64-bit integer, but reads one as a Long. */
export function bigintOf(value: unknown): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt((value as number | bigint | undefined) ?? 0)
}

import { create, fromJson, toJson } from '@bufbuild/protobuf'
import { AttributionSchema, UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { Spent } from '#services/inference/domain/ledger/account.ts'
import type { MaxCost } from '#services/inference/domain/ledger/admission.ts'
import type { KeyTerms } from '#services/inference/domain/ledger/key-terms.ts'
import type { LedgerClosing, LedgerEntry, LedgerOpening } from '#services/inference/ports/ledger.ts'
import { lostClosing } from '../common/lost-closing.ts'
import { finishReasonOf, finishWord } from '../finish-reasons.ts'

type Value = string | number | bigint | null

const OPENED = [
  ...['workspace', 'request_id', 'api_key_id', 'origin', 'streamed', 'session_id', 'user', 'provider_id', 'model_id'],
  ...['preset', 'attribution', 'metadata', 'input_estimate', 'input_price', 'output_price', 'started_at'],
  ...['held_nanos', 'held_minute'],
]
const CLOSED = [
  ...['status', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'],
  ...['estimated', 'cost_nanos', 'cost_known', 'finish_reason', 'raw_reason', 'service_tier', 'left_out'],
  ...['first_part_ms', 'error', 'finished_at'],
]
/** The columns of closed rows that are summed. */
export const COUNTED = [
  ...['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost_nanos'],
] as const
const COUNTED_AT = COUNTED.map((name) => CLOSED.indexOf(name))

/** Inserts a row with `OpenCall.values`, and its hold. */
export const OPEN = `INSERT INTO ledger (${OPENED.join(', ')}, status, cost_nanos, error)
  VALUES (${OPENED.map(() => '?').join(', ')}, 'open', 0, '') ON CONFLICT DO NOTHING`

/** Closes a row with `CloseCall.values`. Returns what it held and where it counts; nothing if it was not open. */
export const CLOSE = `UPDATE ledger SET ${CLOSED.map((name) => `${name} = ?`).join(', ')}
  WHERE workspace = ? AND request_id = ? AND status = 'open'
  RETURNING api_key_id, provider_id, model_id, held_nanos, held_minute, input_estimate`

/** The same for a row that was closed on behalf of a process that is gone. */
export const CORRECT = `UPDATE ledger SET ${CLOSED.map((name) => `${name} = ?`).join(', ')}
  WHERE workspace = ? AND request_id = ?`

/** An opening on its way to the thread, as arrays: objects would send the names of their members each time. */
export interface OpenCall {
  readonly workspace: string
  readonly requestId: string
  readonly apiKeyId: string
  readonly maxCost: MaxCost
  readonly terms: KeyTerms | undefined
  /** The values of OPEN, except the hold. */
  readonly values: readonly Value[]
  readonly now: number
}

/** A row that is given up. */
export interface AbandonedRow {
  readonly workspace: string
  readonly requestId: string
  /** Its provider may have been called. */
  readonly wasCalled: boolean
}

/** A closing on its way to the thread. */
export interface CloseCall {
  readonly workspace: string
  readonly requestId: string
  readonly values: readonly Value[]
  readonly spent: Spent
}

export function toOpenCall(
  opening: LedgerOpening,
  maxCost: MaxCost,
  terms: KeyTerms | undefined,
  now: number,
): OpenCall {
  const { workspace, requestId, apiKeyId, origin, streamed, sessionId, user, providerId, modelId } = opening
  const { preset, attribution, metadata } = opening
  const values = [
    ...[workspace, requestId, apiKeyId, origin, Number(streamed), sessionId, user, providerId, modelId],
    ...[
      maybeJson(preset),
      maybeJson(attribution && toJson(AttributionSchema, attribution)),
      JSON.stringify(metadata),
      maxCost.inputTokens,
    ],
    ...[maxCost.prices?.inputNanos ?? null, maxCost.prices?.outputNanos ?? null, now],
  ]
  return { workspace, requestId, apiKeyId, maxCost, terms, values, now }
}

export function toCloseCall(closing: LedgerClosing, now: number): CloseCall {
  const { workspace, requestId, status, usage, costNanos, costKnown, firstPartMs, error } = closing
  const { finishReason, rawReason, serviceTier, leftOut } = closing
  const { inputTokens = null, outputTokens = null, cacheReadTokens = null } = usage ?? {}
  const { cacheWriteTokens = null, reasoningTokens = null, estimated = false } = usage ?? {}
  const values = [
    ...[status, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, Number(estimated)],
    ...[
      costNanos,
      Number(costKnown),
      finishWord(finishReason) ?? null,
      rawReason,
      serviceTier,
      JSON.stringify(leftOut),
    ],
    ...[firstPartMs ?? null, error, now],
    ...[workspace, requestId],
  ]
  return {
    workspace,
    requestId,
    values,
    spent: { nanos: costNanos, inputTokens: inputTokens ?? 0n, outputTokens: outputTokens ?? 0n },
  }
}

/** What a closing counts, in the order of COUNTED. */
export function countsOf({ values }: CloseCall): bigint[] {
  return COUNTED_AT.map((at) => (values[at] as bigint | null) ?? 0n)
}

/** The entry of a row, which must be read with bigints. */
export function entryOf(row: Record<string, unknown>): LedgerEntry {
  const text = (name: string): string => row[name] as string
  const count = (name: string): bigint => row[name] as bigint
  const usage = create(UsageSchema, {
    inputTokens: count('input_tokens'),
    outputTokens: count('output_tokens'),
    cacheReadTokens: count('cache_read_tokens'),
    cacheWriteTokens: count('cache_write_tokens'),
    reasoningTokens: count('reasoning_tokens'),
    estimated: row.estimated === 1n,
  })
  return {
    workspace: text('workspace'),
    requestId: text('request_id'),
    apiKeyId: text('api_key_id'),
    origin: text('origin'),
    streamed: row.streamed === 1n,
    sessionId: text('session_id'),
    user: text('user'),
    providerId: text('provider_id'),
    modelId: text('model_id'),
    preset: row.preset === null ? undefined : JSON.parse(text('preset')),
    attribution: row.attribution === null ? undefined : fromJson(AttributionSchema, JSON.parse(text('attribution'))),
    metadata: JSON.parse(text('metadata')),
    status: row.status as LedgerEntry['status'],
    usage: row.input_tokens === null ? undefined : usage,
    costNanos: count('cost_nanos'),
    costKnown: row.cost_known === 1n,
    finishReason: finishReasonOf(row.finish_reason as string | null),
    rawReason: text('raw_reason'),
    serviceTier: text('service_tier'),
    leftOut: JSON.parse(text('left_out')),
    firstPartMs: row.first_part_ms === null ? undefined : Number(row.first_part_ms),
    error: text('error'),
    startedAt: Number(row.started_at),
    finishedAt: row.finished_at === null ? undefined : Number(row.finished_at),
  }
}

/** The account and the daily sum in which a row counts, within its workspace. */
export function placeOf(row: Record<string, unknown>) {
  return {
    apiKeyId: row.api_key_id as string,
    providerId: row.provider_id as string,
    modelId: row.model_id as string,
  }
}

/** The closing of a row whose process is gone, or that was given up. */
export function lostClosingOf(row: Record<string, unknown>, wasCalled: boolean): LedgerClosing {
  const [input, output] = [row.input_price, row.output_price] as (bigint | null)[]
  return lostClosing({
    ...entryOf(row),
    wasCalled,
    inputEstimate: row.input_estimate as bigint,
    notedTokens: row.noted_tokens as bigint,
    prices: input == null || output == null ? undefined : { inputNanos: input, outputNanos: output },
  })
}

/** What a closed row counts in accounts. */
export function spentOf(row: Record<string, unknown>): Spent {
  const count = (name: string): bigint => (row[name] as bigint | null) ?? 0n
  return { nanos: count('cost_nanos'), inputTokens: count('input_tokens'), outputTokens: count('output_tokens') }
}

function maybeJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

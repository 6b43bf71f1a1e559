import { create } from '@bufbuild/protobuf'
import {
  AppliedPresetSchema,
  AttributionSchema,
  type FinishReason,
  UsageSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationRecord,
  GenerationRecordSchema,
  GenerationRecord_Status as Status,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Spent } from '#services/inference/domain/ledger/account.ts'
import { highestCost, type MaxCost } from '#services/inference/domain/ledger/admission.ts'
import { type LedgerClosing, type LedgerOpening, PROCESS_LOST } from '#services/inference/ports/ledger.ts'
import {
  defineTable,
  document,
  documents,
  flag,
  fromRow,
  integer,
  json,
  message,
  optional,
  type RowOf,
  text,
  toRow,
  wide,
} from '#shared/stores/table.ts'

const tokenColumns = {
  inputTokens: wide(),
  outputTokens: wide(),
  cacheReadTokens: wide(),
  cacheWriteTokens: wide(),
  reasoningTokens: wide(),
}

/** What activity sums of each closed row. */
export const countedColumns = { ...tokenColumns, costNanos: wide() }
export type Counted = keyof typeof countedColumns
export const COUNTED = Object.keys(countedColumns) as readonly Counted[]

const closedColumns = {
  status: integer<Status>(),
  /** Null: without usage. */
  inputTokens: optional(wide()),
  outputTokens: optional(wide()),
  cacheReadTokens: optional(wide()),
  cacheWriteTokens: optional(wide()),
  reasoningTokens: optional(wide()),
  estimated: optional(flag()),
  costNanos: wide(),
  costKnown: flag(),
  finishReason: optional(integer<FinishReason>()),
  rawReason: optional(text()),
  serviceTier: optional(text()),
  leftOut: json<string[]>('texts'),
  firstPartMs: optional(integer()),
  error: optional(text()),
  finishTime: optional(integer()),
}

const sqliteColumns = {
  metadata: json<LedgerOpening['metadata']>('texts by name'),
  heldNanos: wide(),
  heldMinute: integer(),
}

export const ledger = defineTable({
  name: 'ledger',
  columns: {
    workspaceId: text(),
    requestId: text(),
    apiKeyId: text(),
    origin: text(),
    streamed: flag(),
    sessionId: optional(text()),
    user: optional(text()),
    providerId: text(),
    modelId: text(),
    preset: optional(message(AppliedPresetSchema)),
    attribution: optional(message(AttributionSchema)),
    createTime: integer(),
    ...closedColumns,
    inputEstimate: wide(),
    /** The size of the output when it was last recorded. */
    notedTokens: wide(),
    inputPrice: optional(wide()),
    outputPrice: optional(wide()),
  },
  sqlite: {
    columns: sqliteColumns,
    primaryKey: ['workspaceId', 'requestId'],
    withoutRowid: true,
    indexes: {
      ledgerOpen: `(status) WHERE status = ${Status.OPEN}`,
      ledgerByTime: '(workspaceId, finishTime) WHERE finishTime IS NOT NULL',
    },
  },
  mongo: {
    columns: {
      /** The process that opened it. */
      process: text(),
      /** The name of its hold in the accounts. */
      hold: text(),
      /** Here any text may be a name, unlike in a document. */
      metadata: documents<{ readonly k: string; readonly v: string }>({ k: text(), v: text() }),
      /** What was counted under another hold when the row was mistaken for lost; else null. */
      counted: document<Spent | null>({ nanos: wide(), inputTokens: wide(), outputTokens: wide() }),
    },
    indexes: [{ name: 'ledgerByTime', key: { workspaceId: 1, finishTime: 1 } }],
  },
})

/** The processes that write the ledger in MongoDB, and until when each counts as alive, by the server's clock. */
export const leases = defineTable({ name: 'leases', columns: { expireTime: wide() }, mongo: { indexes: [] } })

export const rowColumns = { ...ledger.columns, ...sqliteColumns }

/** Sums of the rows by UTC day of their end, key, provider and model, in SQLite. */
export const dailySums = defineTable({
  name: 'dailySums',
  columns: {
    workspaceId: text(),
    day: integer(),
    apiKeyId: text(),
    providerId: text(),
    modelId: text(),
    requests: integer(),
    ...countedColumns,
  },
  sqlite: { primaryKey: ['workspaceId', 'day', 'apiKeyId', 'providerId', 'modelId'], withoutRowid: true },
})

type LedgerRow = RowOf<typeof ledger.columns>
export type ClosedRow = RowOf<typeof closedColumns>

/** The row of a request that begins. */
export function openRow(opening: LedgerOpening, { inputTokens, prices }: MaxCost, createTime: number): LedgerRow {
  return toRow(ledger.columns, {
    ...opening,
    createTime,
    status: Status.OPEN,
    costNanos: 0n,
    costKnown: false,
    leftOut: [],
    inputEstimate: inputTokens,
    notedTokens: 0n,
    inputPrice: prices?.inputNanos,
    outputPrice: prices?.outputNanos,
  })
}

/** The fields that close a row. */
export function closedRow(closing: LedgerClosing, finishTime: number): ClosedRow {
  return toRow(closedColumns, { ...closing, ...closing.usage, finishTime })
}

export function toRecord(row: LedgerRow, metadata: LedgerOpening['metadata']): GenerationRecord {
  const record = fromRow(ledger.columns, row)
  const usage = record.inputTokens === undefined ? undefined : create(UsageSchema, record)
  return create(GenerationRecordSchema, { ...record, apiKeyId: record.apiKeyId || undefined, usage, metadata })
}

/** What a closed row counts in accounts. */
export function spentOf({ costNanos, inputTokens, outputTokens }: ClosedRow): Spent {
  return { nanos: costNanos, inputTokens: inputTokens ?? 0n, outputTokens: outputTokens ?? 0n }
}

/** What is known about a row whose process is gone, or that was given up. */
export type LostRow = Pick<
  LedgerRow,
  'workspaceId' | 'requestId' | 'apiKeyId' | 'inputEstimate' | 'notedTokens' | 'inputPrice' | 'outputPrice'
>

/** How such a row is closed. `wasCalled`: its provider may have been called. */
export function lostClosing(row: LostRow, wasCalled: boolean, outputTokens = row.notedTokens): LedgerClosing {
  const { workspaceId, requestId, apiKeyId, inputPrice, outputPrice } = row
  const inputTokens = wasCalled ? row.inputEstimate : 0n
  const hasPrices = inputPrice !== null && outputPrice !== null
  const prices = hasPrices ? { inputNanos: inputPrice, outputNanos: outputPrice } : undefined
  return {
    workspaceId,
    requestId,
    apiKeyId,
    status: Status.ABORTED,
    usage: create(UsageSchema, { inputTokens, outputTokens, estimated: true }),
    costNanos: highestCost({ inputTokens, outputTokens, prices }),
    // Only the estimate of what was used is left.
    costKnown: !wasCalled,
    leftOut: [],
    error: PROCESS_LOST,
  }
}

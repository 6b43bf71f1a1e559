import { Long } from 'mongodb'
import type { Usage } from '#services/inference/domain/generation.ts'
import type { LedgerEntry, LedgerOpening } from '#services/inference/ports/ledger.ts'

/** Longs, in the order of their names in Usage; null: none reported. */
type StoredUsage = Readonly<Record<Exclude<keyof Usage, 'estimated'>, bigint>>

/** A row of the ledger as it is stored. */
export interface Row extends Omit<LedgerEntry, 'workspace' | 'requestId' | 'usage' | 'startedAt' | 'finishedAt'> {
  readonly _id: { readonly workspace: string; readonly requestId: string }
  readonly workspace: string
  readonly usage: StoredUsage | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

/** A row that is open. */
export function toRow({ workspace, requestId, ...rest }: LedgerOpening, now: number): Row {
  const nothing = { usage: null, costNanos: 0n, error: '', finishedAt: null }
  return {
    _id: { workspace, requestId },
    workspace,
    ...rest,
    ...{ status: 'open', ...nothing },
    startedAt: new Date(now),
  }
}

/** Usage as it is stored. */
export function toStoredUsage(usage: Usage | undefined): StoredUsage | null {
  if (usage === undefined) return null
  const { estimated: _, ...counts } = usage
  return counts
}

/** The entry that a row is; it has to be read without promoting Longs. */
export function fromRow({ _id, usage, costNanos, startedAt, finishedAt, ...rest }: Row): LedgerEntry {
  return {
    ...rest,
    requestId: _id.requestId,
    usage: usage === null ? undefined : usageOf(usage),
    costNanos: bigintOf(costNanos),
    startedAt: startedAt.getTime(),
    finishedAt: finishedAt?.getTime(),
  }
}

function usageOf(usage: StoredUsage): Usage {
  return {
    inputTokens: bigintOf(usage.inputTokens),
    outputTokens: bigintOf(usage.outputTokens),
    cacheReadTokens: bigintOf(usage.cacheReadTokens),
    cacheWriteTokens: bigintOf(usage.cacheWriteTokens),
    reasoningTokens: bigintOf(usage.reasoningTokens),
  }
}

/** The driver writes a bigint as a 64-bit integer, and reads one as a Long. */
function bigintOf(value: unknown): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt(value as number)
}

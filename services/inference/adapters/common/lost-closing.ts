import { highestCost, type Prices } from '#services/inference/domain/ledger/admission.ts'
import { type LedgerClosing, type LedgerEntry, PROCESS_LOST } from '#services/inference/ports/ledger.ts'

/** A row whose process is gone, with what was known of it. */
export interface LostRow extends Pick<LedgerEntry, 'workspace' | 'requestId' | 'apiKeyId'> {
  /** Its provider may have been called. */
  readonly wasCalled: boolean
  /** What its input was taken for. */
  readonly inputEstimate: bigint
  /** How much output was noted last. */
  readonly notedTokens: bigint
  readonly prices: Prices | undefined
}

/** How it is closed. */
export function lostClosing({ notedTokens, prices, ...row }: LostRow): LedgerClosing {
  const { workspace, requestId, apiKeyId, wasCalled } = row
  const inputEstimate = wasCalled ? row.inputEstimate : 0n
  const usage = {
    inputTokens: inputEstimate,
    outputTokens: notedTokens,
    cacheReadTokens: 0n,
    cacheWriteTokens: 0n,
    reasoningTokens: 0n,
    estimated: true,
  }
  return {
    workspace,
    requestId,
    apiKeyId,
    status: 'aborted',
    usage,
    costNanos: highestCost({ inputTokens: inputEstimate, outputTokens: notedTokens, prices }),
    // Of what was used the estimate is all that is left.
    costKnown: !wasCalled,
    finishReason: undefined,
    rawReason: '',
    serviceTier: '',
    leftOut: [],
    firstPartMs: undefined,
    error: PROCESS_LOST,
  }
}

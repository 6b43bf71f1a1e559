import { create } from '@bufbuild/protobuf'
import { UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { highestCost, type Prices } from '#services/inference/domain/ledger/admission.ts'
import { type LedgerClosing, type LedgerEntry, PROCESS_LOST } from '#services/inference/ports/ledger.ts'

/** A row whose process is gone, with what was known about it. */
export interface LostRow extends Pick<LedgerEntry, 'workspace' | 'requestId' | 'apiKeyId'> {
  /** Its provider may have been called. */
  readonly wasCalled: boolean
  /** The estimated size of its input. */
  readonly inputEstimate: bigint
  /** The size of its output when it was last recorded. */
  readonly notedTokens: bigint
  readonly prices: Prices | undefined
}

/** Returns how it is closed. */
export function lostClosing({ notedTokens, prices, ...row }: LostRow): LedgerClosing {
  const { workspace, requestId, apiKeyId, wasCalled } = row
  const inputEstimate = wasCalled ? row.inputEstimate : 0n
  const usage = create(UsageSchema, { inputTokens: inputEstimate, outputTokens: notedTokens, estimated: true })
  return {
    workspace,
    requestId,
    apiKeyId,
    status: 'aborted',
    usage,
    costNanos: highestCost({ inputTokens: inputEstimate, outputTokens: notedTokens, prices }),
    // Only the estimate of what was used is left.
    costKnown: !wasCalled,
    finishReason: undefined,
    rawReason: '',
    serviceTier: '',
    leftOut: [],
    firstPartMs: undefined,
    error: PROCESS_LOST,
  }
}

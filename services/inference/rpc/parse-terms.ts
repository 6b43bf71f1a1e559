import { KeyTerms_Reset, type KeyTerms as TermsMessage } from '#gen/portico/identity/v1/identity_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { KeyTerms, LimitReset } from '../domain/ledger/key-terms.ts'

const resets = enumTable<LimitReset, KeyTerms_Reset>({
  never: KeyTerms_Reset.NEVER,
  daily: KeyTerms_Reset.DAILY,
  weekly: KeyTerms_Reset.WEEKLY,
  monthly: KeyTerms_Reset.MONTHLY,
})

/** Parses the terms of a key that identity has returned; a period that is unknown here never ends. */
export function parseTerms(terms: TermsMessage | undefined): KeyTerms | undefined {
  if (terms === undefined) return undefined
  const { limitNanos, limitReset, requestsPerMinute, tokensPerMinute, concurrentRequests } = terms
  return {
    limitNanos,
    limitReset: resets.fromProto(limitReset) ?? 'never',
    requestsPerMinute,
    tokensPerMinute,
    concurrentRequests,
    allowedModels: terms.allowedModels,
    workspaceLimitNanos: terms.workspaceLimitNanos,
  }
}

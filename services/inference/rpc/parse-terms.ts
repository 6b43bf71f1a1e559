import { KeyTerms_Reset, type KeyTerms as TermsMessage } from '#gen/portico/identity/v1/identity_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { KeyTerms, LimitReset } from '../domain/ledger/key-terms.ts'

const resets = enumTable<LimitReset, KeyTerms_Reset>({
  never: KeyTerms_Reset.NEVER,
  daily: KeyTerms_Reset.DAILY,
  weekly: KeyTerms_Reset.WEEKLY,
  monthly: KeyTerms_Reset.MONTHLY,
})

/** What a key may spend, as identity says it; a period that is not known here never ends. */
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

import { create } from '@bufbuild/protobuf'
import {
  KeyTerms_ResponsesDialect as DialectMessage,
  KeyTerms_Reset,
  type KeyTerms as KeyTermsMessage,
  KeyTermsSchema,
} from '#gen/portico/identity/v1/identity_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, parseText } from '#shared/rpc/parse.ts'
import { type KeyTerms, type LimitReset, NO_TERMS, type ResponsesDialect } from '../domain/key-terms.ts'

/** Maximum length of a pattern for models. */
const MAX_PATTERN_LENGTH = 512

const checkTerms = checkLimits(KeyTermsSchema)

const resets = enumTable<LimitReset, KeyTerms_Reset>({
  never: KeyTerms_Reset.NEVER,
  daily: KeyTerms_Reset.DAILY,
  weekly: KeyTerms_Reset.WEEKLY,
  monthly: KeyTerms_Reset.MONTHLY,
})

const dialects = enumTable<ResponsesDialect, DialectMessage>({
  both: DialectMessage.BOTH,
  openai: DialectMessage.OPENAI,
  specification: DialectMessage.SPECIFICATION,
})

/** Parses the terms in a message; rejects with REQUEST_INVALID if they are invalid. */
export function parseTerms(message: KeyTermsMessage): KeyTerms {
  checkTerms(message, 'terms')
  const { limitNanos, requestsPerMinute, tokensPerMinute, concurrentRequests, limitIncludesOwnKeys } = message
  const limitReset = resets.fromProto(message.limitReset ?? KeyTerms_Reset.NEVER)
  check(limitReset !== undefined, 'terms.limit_reset', 'is not known')
  const { historyIds } = message
  const responsesDialect = dialects.fromProto(message.responsesDialect)
  check(
    message.responsesDialect === undefined || responsesDialect !== undefined,
    'terms.responses_dialect',
    'is not known',
  )
  return {
    responsesDialect,
    historyIds,
    limitNanos,
    limitReset,
    requestsPerMinute,
    concurrentRequests,
    limitIncludesOwnKeys,
    tokensPerMinute: tokensPerMinute === undefined ? undefined : Number(tokensPerMinute),
    allowedModels: message.allowedModels.map((pattern, i) =>
      parseText(`terms.allowed_models[${i}]`, pattern, 1, MAX_PATTERN_LENGTH),
    ),
  }
}

/** Most keys have no terms; callers must not change this message. */
const NONE = create(KeyTermsSchema, { limitReset: KeyTerms_Reset.NEVER })

/** Converts the terms of a key in a workspace that may have a limit. */
export function termsToProto(terms: KeyTerms, workspaceLimitNanos: bigint | undefined): KeyTermsMessage {
  if (terms === NO_TERMS && workspaceLimitNanos === undefined) return NONE
  const { tokensPerMinute, limitReset, allowedModels, responsesDialect, ...same } = terms
  return create(KeyTermsSchema, {
    ...same,
    tokensPerMinute: tokensPerMinute === undefined ? undefined : BigInt(tokensPerMinute),
    limitReset: resets.toProto(limitReset),
    responsesDialect: responsesDialect && dialects.toProto(responsesDialect),
    allowedModels: [...allowedModels],
    workspaceLimitNanos,
  })
}

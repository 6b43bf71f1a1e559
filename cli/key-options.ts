// The options of the key command.
import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type ApiKey,
  KeyTerms_Reset,
  KeyTerms_ResponsesDialect,
  type KeyTermsSchema,
} from '#gen/portico/identity/v1/identity_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { UsageError } from './command.ts'

type Terms = Exclude<MessageInitShape<typeof KeyTermsSchema>, { readonly $typeName: string }>

const text = { type: 'string' } as const

/** Options that set the terms of a key; `none` removes one. */
export const TERM_OPTIONS = {
  limit: text,
  reset: text,
  'requests-per-minute': text,
  'tokens-per-minute': text,

  'concurrent-requests': text,
  models: text,
  'responses-dialect': text,
  'history-ids': text,
} as const

type Options = { readonly [name in keyof typeof TERM_OPTIONS]?: string }

const RESETS: Readonly<Record<string, KeyTerms_Reset>> = {
  never: KeyTerms_Reset.NEVER,
  daily: KeyTerms_Reset.DAILY,
  weekly: KeyTerms_Reset.WEEKLY,
  monthly: KeyTerms_Reset.MONTHLY,
}

const DIALECTS = enumTable({
  both: KeyTerms_ResponsesDialect.BOTH,
  openai: KeyTerms_ResponsesDialect.OPENAI,
  specification: KeyTerms_ResponsesDialect.SPECIFICATION,
})

/** The fields that options set, and their values. */
export function parseTerms(options: Options): { readonly terms: Terms; readonly paths: string[] } {
  const count = (name: keyof Options): number | undefined => {
    const value = options[name]
    if (value === undefined || value === 'none') return undefined
    if (!/^[1-9]\d{0,12}$/.test(value)) throw new UsageError(`--${name} takes a whole number, or none`)
    return Number(value)
  }
  const reset = RESETS[options.reset ?? 'never']
  if (reset === undefined) throw new UsageError('--reset takes never, daily, weekly or monthly')
  const tokens = count('tokens-per-minute')
  const ids = options['history-ids'] ?? 'none'
  const word = options['responses-dialect'] ?? 'none'
  const dialect = DIALECTS.names.find((name) => name === word)
  if (dialect === undefined && word !== 'none')
    throw new UsageError('--responses-dialect takes both, openai, specification or none')
  if (!['true', 'false', 'none'].includes(ids)) throw new UsageError('--history-ids takes true, false or none')
  const terms: Terms = {
    limitNanos: parseDollars('--limit', options.limit),
    limitReset: reset,
    requestsPerMinute: count('requests-per-minute'),
    tokensPerMinute: tokens === undefined ? undefined : BigInt(tokens),
    concurrentRequests: count('concurrent-requests'),
    responsesDialect: dialect && DIALECTS.toProto(dialect),
    historyIds: ids === 'none' ? undefined : ids === 'true',
    allowedModels: (options.models ?? 'none') === 'none' ? [] : (options.models ?? '').split(','),
  }
  const fields = {
    limit: 'limit_nanos',
    reset: 'limit_reset',
    'requests-per-minute': 'requests_per_minute',
    'tokens-per-minute': 'tokens_per_minute',
    'concurrent-requests': 'concurrent_requests',
    models: 'allowed_models',
    'responses-dialect': 'responses_dialect',
    'history-ids': 'history_ids',
  }
  const named = Object.entries(fields).filter(([name]) => options[name as keyof Options] !== undefined)
  return { terms, paths: named.map(([, field]) => `terms.${field}`) }
}

/** Converts US dollars to nano-dollars; undefined: `none`, or nothing was given. */
export function parseDollars(what: string, text: string | undefined): bigint | undefined {
  if (text === undefined || text === 'none') return undefined
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (whole === undefined) throw new UsageError(`${what} takes an amount of US dollars, or none`)
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** Describes the terms of a key for people; none: nothing limits it. */
export function describeTerms({ terms }: ApiKey): string[] {
  const { responsesDialect, historyIds } = terms ?? {}
  const { limitNanos, limitReset, requestsPerMinute, tokensPerMinute, concurrentRequests, allowedModels } = terms ?? {}
  const period = Object.keys(RESETS).find((name) => RESETS[name] === limitReset) ?? 'never'
  return [
    ...(limitNanos === undefined ? [] : [`$${Number(limitNanos) / 1e9}${period === 'never' ? '' : ` ${period}`}`]),
    ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests/min`]),
    ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens/min`]),
    ...(concurrentRequests === undefined ? [] : [`${concurrentRequests} at once`]),
    ...(allowedModels === undefined || allowedModels.length === 0 ? [] : [`models ${allowedModels.join(',')}`]),
    ...(responsesDialect === undefined ? [] : [`dialect ${DIALECTS.fromProto(responsesDialect)}`]),
    ...(historyIds === undefined ? [] : [`history ids ${historyIds}`]),
  ]
}

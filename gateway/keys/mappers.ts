import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type ApiKey,
  KeyTerms_Reset,
  type KeyTermsSchema,
  Principal_Kind,
} from '#gen/portico/identity/v1/identity_pb.js'
import type { Spending } from '#gen/portico/inference/v1/usage_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { responsesDialects } from '../generation/responses-dialect.ts'
import type { JsonOf } from '../kinds.ts'
import { fromMaybeMoment, fromMoment } from '../records/time.ts'
import { fromCost, toCost } from '../records/usage.ts'
import type { KeyBody, key, ownKey } from './schemas.ts'

type Terms = Exclude<MessageInitShape<typeof KeyTermsSchema>, { readonly $typeName: string }>

const resets = enumTable({
  never: KeyTerms_Reset.NEVER,
  daily: KeyTerms_Reset.DAILY,
  weekly: KeyTerms_Reset.WEEKLY,
  monthly: KeyTerms_Reset.MONTHLY,
})

/** Members of a body, by the fields of a key that they are. */
const FIELDS = {
  name: 'name',
  disabled: 'disabled',
  expires_at: 'expire_time',
  limit: 'terms.limit_nanos',
  limit_reset: 'terms.limit_reset',
  include_byok_in_limit: 'terms.limit_includes_own_keys',
  requests_per_minute: 'terms.requests_per_minute',
  tokens_per_minute: 'terms.tokens_per_minute',
  concurrent_requests: 'terms.concurrent_requests',
  allowed_models: 'terms.allowed_models',
  responses_dialect: 'terms.responses_dialect',
  history_ids: 'terms.history_ids',
} as const satisfies Record<keyof KeyBody, string>

/** The settings of a key in a body; null means absent. */
export function toKeySettings(body: KeyBody) {
  const { name = '', disabled = false, expires_at: expires } = body
  return { name, disabled, terms: toTerms(body), expireTime: expires == null ? undefined : Date.parse(expires) }
}

function toTerms(body: KeyBody): Terms {
  const { limit, tokens_per_minute: tokensPerMinute } = body
  return {
    limitNanos: limit == null ? undefined : toCost(limit),
    limitReset: resets.toProto(body.limit_reset ?? 'never'),
    requestsPerMinute: body.requests_per_minute ?? undefined,
    tokensPerMinute: tokensPerMinute == null ? undefined : BigInt(tokensPerMinute),
    concurrentRequests: body.concurrent_requests ?? undefined,
    allowedModels: body.allowed_models ?? [],
    responsesDialect: body.responses_dialect == null ? undefined : responsesDialects.toProto(body.responses_dialect),
    historyIds: body.history_ids ?? undefined,
    limitIncludesOwnKeys: body.include_byok_in_limit ?? false,
  }
}

export function maskOf(body: KeyBody): { paths: string[] } {
  const named = new Set(Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  return { paths: Object.entries(FIELDS).flatMap(([name, path]) => (named.has(name) ? [path] : [])) }
}

/** The member of a body that a field of a key was made from; `update_mask` stands for the whole body. */
export function publicField(field: string): string {
  const [, path = '', rest = ''] = /^([^[]*)(.*)$/.exec(field) ?? []
  const [name] = Object.entries(FIELDS).find(([, each]) => each === path) ?? []
  return `${name ?? (path === 'update_mask' ? '' : path)}${rest.replace(/\[(\d+)\]/g, '.$1')}`
}

export function fromKey(record: ApiKey | undefined, spending: Spending | undefined): JsonOf<typeof key> {
  const apiKey = required(record)
  const updated = fromMoment(apiKey.updateTime)
  const created = fromMoment(apiKey.createTime)
  return {
    hash: apiKey.hash,
    key_id: apiKey.keyId,
    name: apiKey.name,
    disabled: apiKey.disabled,
    ...fromCommon(apiKey, spending),
    created_at: created,
    updated_at: updated === created ? null : updated,
    external_user: null,
    workspace_id: workspaceUuid(apiKey.workspaceId),
  }
}

export function fromOwnKey(
  record: ApiKey | undefined,
  spending: Spending | undefined,
  organizationId: string,
): JsonOf<typeof ownKey> {
  const apiKey = required(record)
  const isManager = apiKey.kind === Principal_Kind.MANAGEMENT
  return {
    ...fromCommon(apiKey, spending),
    is_free_tier: false,
    is_management_key: isManager,
    is_provisioning_key: isManager,
    organization_id: organizationId,
    workspace_id: workspaceUuid(apiKey.workspaceId),
    allowed_data_regions: ['global'],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: { requests: apiKey.terms?.requestsPerMinute ?? -1, interval: '1m', note: 'See requests_per_minute' },
  }
}

/** What was spent with a provider's key of the caller's own: there are no such keys yet. */
const NO_OWN_KEYS = {
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
} as const

function fromCommon(apiKey: ApiKey, spending: Spending | undefined) {
  const { terms } = apiKey
  const { limitNanos, allowedModels = [], tokensPerMinute } = terms ?? {}
  const reset = resets.fromProto(terms?.limitReset ?? KeyTerms_Reset.NEVER) ?? 'never'
  const { totalNanos = 0n, dayNanos = 0n, weekNanos = 0n, monthNanos = 0n } = spending ?? {}
  const spent = { never: totalNanos, daily: dayNanos, weekly: weekNanos, monthly: monthNanos }[reset]
  return {
    label: `${apiKey.prefix}…`,
    limit: limitNanos === undefined ? null : fromCost(limitNanos),
    limit_remaining: limitNanos === undefined ? null : fromCost(limitNanos > spent ? limitNanos - spent : 0n),
    limit_reset: reset === 'never' ? null : reset,
    include_byok_in_limit: terms?.limitIncludesOwnKeys ?? false,
    usage: fromCost(totalNanos),
    usage_daily: fromCost(dayNanos),
    usage_weekly: fromCost(weekNanos),
    usage_monthly: fromCost(monthNanos),
    ...NO_OWN_KEYS,
    expires_at: fromMaybeMoment(apiKey.expireTime),
    creator_user_id: apiKey.creatorKeyId ?? null,
    requests_per_minute: terms?.requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute === undefined ? null : Number(tokensPerMinute),
    concurrent_requests: terms?.concurrentRequests ?? null,
    allowed_models: allowedModels.length === 0 ? null : allowedModels,
    responses_dialect: responsesDialects.fromProto(terms?.responsesDialect) ?? null,
    history_ids: terms?.historyIds ?? null,
  }
}

function required(apiKey: ApiKey | undefined): ApiKey {
  if (apiKey === undefined) throw new Error('identity returned no key')
  return apiKey
}

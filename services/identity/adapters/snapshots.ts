import { hash } from 'node:crypto'
import type { IssuerSettings, Organization, PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import {
  type ApiKey,
  KeyTerms_ResponsesDialect as Dialect,
  type KeyTerms,
  KeyTerms_Reset as Reset,
} from '#gen/portico/identity/v1/identity_pb.js'
import { kindName, NO_TERMS } from '#services/identity/domain/api-key.ts'
import { PLAN_NAMES } from '#services/identity/domain/organization.ts'
import type { JsonObject } from '#shared/json.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'

const resets = enumTable({ daily: Reset.DAILY, weekly: Reset.WEEKLY, monthly: Reset.MONTHLY })
const dialects = enumTable({ both: Dialect.BOTH, openai: Dialect.OPENAI, specification: Dialect.SPECIFICATION })

/** A key as shown in the audit log: all its mutable members. Terms are included if they limit something. */
export function keySnapshot({ workspaceId, kind, name, disabled, expireTime, terms = NO_TERMS }: ApiKey): JsonObject {
  return {
    workspace_id: workspaceId,
    kind: kindName(kind),
    name,
    disabled,
    expire_time: expireTime === undefined ? null : new Date(expireTime).toISOString(),
    ...termsSnapshot(terms),
  }
}

function termsSnapshot(terms: KeyTerms): JsonObject {
  const { limitNanos, requestsPerMinute, tokensPerMinute, concurrentRequests, allowedModels, historyIds } = terms
  const reset = resets.fromProto(terms.limitReset)
  const dialect = dialects.fromProto(terms.responsesDialect)
  return {
    ...(limitNanos !== undefined && { limit_nanos: String(limitNanos) }),
    ...(reset !== undefined && { limit_reset: reset }),
    ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: Number(tokensPerMinute) }),
    ...(concurrentRequests !== undefined && { concurrent_requests: concurrentRequests }),
    ...(allowedModels.length > 0 && { allowed_models: [...allowedModels] }),
    ...(terms.limitIncludesOwnKeys && { limit_includes_own_keys: true }),
    ...(dialect !== undefined && { responses_dialect: dialect }),
    ...(historyIds !== undefined && { history_ids: historyIds }),
  }
}

/** A workspace as shown in the audit log. */
export function workspaceSnapshot(limitNanos: bigint | undefined): JsonObject {
  return { limit_nanos: limitNanos === undefined ? null : String(limitNanos) }
}

/** An organization as shown in the audit log. */
export function organizationSnapshot({ name, plan }: Pick<Organization, 'name' | 'plan'>): JsonObject {
  return { name, plan: PLAN_NAMES.get(plan) ?? 'unknown' }
}

/** An issuer as shown in the audit log: all of its settings. */
export function issuerSnapshot({ name, issuerUrl, keySource, singleUse, maxAgeSeconds }: IssuerSettings): JsonObject {
  const rest = { single_use: singleUse, max_age_seconds: maxAgeSeconds ?? null }
  return { name, issuer_url: issuerUrl, ...sourceSnapshot(keySource), ...rest }
}

/** A key set may be long, so the log contains its digest. */
function sourceSnapshot(source: IssuerSettings['keySource']): JsonObject {
  if (source.case === 'jwks') return { jwks_sha256: hash('sha256', source.value, 'hex') }
  return source.case === 'jwksUrl' ? { jwks_url: source.value } : { discovery: true }
}

/** A policy as shown in the audit log: all of its settings. */
export function policySnapshot(policy: PolicySettings): JsonObject {
  const { name, issuerId, subject = null, audience, condition = null, keyId, enabled, checks } = policy
  return {
    name,
    issuer_id: issuerId,
    subject,
    audience,
    condition,
    key_id: keyId,
    enabled,
    checks: { scope: checks?.scope ?? null, token_type: checks?.tokenType ?? null },
  }
}

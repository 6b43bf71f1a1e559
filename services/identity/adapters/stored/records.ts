import { hash } from 'node:crypto'
import type { AuditEvent } from '#services/identity/domain/audit.ts'
import type { IssuerSettings, KeyHealth } from '#services/identity/domain/issuer.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'
import type { FetchAttempt } from '#services/identity/ports/issuer-health.ts'

/** As in JSON: undefined members are missing, or null. */
export type StoredHealth = { readonly [name in keyof KeyHealth]?: KeyHealth[name] | null }

/** Copies exactly the settings, from an object that may have more or fewer members. */
export function issuerSettings({ name, url, keySource, singleUse, maxAgeSeconds }: IssuerSettings): IssuerSettings {
  return { name, url, keySource, singleUse, maxAgeSeconds: maxAgeSeconds ?? undefined }
}

/** Copies exactly the settings, from an object that may have more or fewer members. */
export function policySettings(settings: PolicySettings): PolicySettings {
  const { name, issuerId, subject, audience, condition, target, enabled, checks } = settings
  return {
    name,
    issuerId,
    subject: subject ?? undefined,
    audience,
    condition: condition ?? undefined,
    target: { workspaceId: target.workspaceId, keyId: target.keyId },
    enabled,
    checks: { scope: checks.scope ?? undefined, tokenType: checks.tokenType ?? undefined },
  }
}

export function toHealth({ timeSucceeded, timeFailed, failure, timeNextTry }: StoredHealth): KeyHealth {
  return {
    timeSucceeded: timeSucceeded ?? undefined,
    timeFailed: timeFailed ?? undefined,
    failure: failure ?? undefined,
    timeNextTry: timeNextTry ?? undefined,
  }
}

/** The members of the health that an attempt changes. */
export function healthChanges({ time, failure, timeNextTry }: FetchAttempt): StoredHealth {
  if (failure === undefined) return { timeSucceeded: time, timeNextTry: null }
  return { timeFailed: time, failure, timeNextTry: timeNextTry ?? null }
}

/** By what an entry is found. */
export interface EntryKeys {
  readonly kind: 'exchange-accepted' | 'exchange-refused' | 'changed'
  readonly policyId?: string | undefined
  readonly issuerId?: string | undefined
  readonly keyId?: string | undefined
  readonly reason?: string | undefined
  readonly subject?: string | undefined
}

export function keysOf(event: AuditEvent): EntryKeys {
  switch (event.type) {
    case 'exchange-accepted': {
      const { type: kind, policyId, issuerId, target, subject } = event
      return { kind, policyId, issuerId, keyId: target.keyId, subject }
    }
    case 'exchange-refused': {
      const { type: kind, policyId, issuerId, target, reason, subject } = event
      return { kind, policyId, issuerId, keyId: target?.keyId, reason, subject }
    }
    case 'exchanges-refused': {
      const { policyId, issuerId, target, reason } = event
      return { kind: 'exchange-refused', policyId, issuerId, keyId: target?.keyId, reason }
    }
    case 'changed': {
      const about = (resource: string) => (event.resource === resource ? event.resourceId : undefined)
      return { kind: event.type, policyId: about('policy'), issuerId: about('issuer'), keyId: about('api-key') }
    }
  }
}

/** How long a claim is kept after its token has expired: a day, plus the difference between the clocks of processes. */
export const CLAIM_KEPT_MS = 86_400_000 + 120_000

/** Identifies a token of an issuer by a few bytes, however long its `jti` is. */
export function useHash(organizationId: string, { issuerId, jti }: TokenUse): string {
  return hash('sha256', JSON.stringify([organizationId, issuerId, jti]), 'base64url')
}

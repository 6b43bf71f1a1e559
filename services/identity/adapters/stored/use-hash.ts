import { hash } from 'node:crypto'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'

/** How long a claim is kept after its token has expired: a day, plus the difference between the clocks of processes. */
export const CLAIM_KEPT_MS = 86_400_000 + 120_000

/** Identifies a token of an issuer by a few bytes, however long its `jti` is. */
export function useHash(organizationId: string, { issuerId, jti }: TokenUse): string {
  return hash('sha256', JSON.stringify([organizationId, issuerId, jti]), 'base64url')
}

import { hash } from 'node:crypto'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'

/** How long after its token has expired a claim is kept: a day, and what the clocks of processes differ by. */
export const CLAIM_KEPT_MS = 86_400_000 + 120_000

/** Names a token of an issuer in a few bytes, however long its `jti` is. */
export function useHash(organizationId: string, { issuerId, jti }: TokenUse): string {
  return hash('sha256', JSON.stringify([organizationId, issuerId, jti]), 'base64url')
}

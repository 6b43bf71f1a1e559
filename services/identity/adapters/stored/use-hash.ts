import { hash } from 'node:crypto'
import type { TokenUse } from '#services/identity/ports/replay-claims.ts'

/** How long after its time a claim is kept. */
export const CLAIM_KEPT_MS = 86_400_000

/** Names a token of an issuer in a few bytes, however long its `jti` is. */
export function useHash({ organizationId, issuerId, jti }: TokenUse): string {
  return hash('sha256', JSON.stringify([organizationId, issuerId, jti]), 'base64url')
}

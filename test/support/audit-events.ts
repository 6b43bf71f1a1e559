import type { ExchangeAccepted, ExchangeRefused, ExchangesRefused } from '#services/identity/domain/audit.ts'

export const accepted: ExchangeAccepted = {
  type: 'exchange-accepted',
  policyId: 'p1',
  policyRevision: 3,
  issuerId: 'iss_1',
  issuerRevision: 7,
  target: { workspaceId: 'wrk_1', keyId: 'key_1' },
  subject: 'näme ☂',
  tokenId: 'jti',
  timeExpires: 900_000,
  clientNetwork: '192.0.2.1',
}

/** An event of a policy whose issuer was deleted, and of which nothing else was known. */
export const refused: ExchangeRefused = {
  type: 'exchange-refused',
  policyId: 'p1',
  reason: 'subject',
  clientNetwork: '2001:db8::/64',
}

export const counted: ExchangesRefused = {
  type: 'exchanges-refused',
  policyId: 'p2',
  issuerId: 'iss_1',
  target: { workspaceId: 'wrk_1', keyId: 'key_2' },
  reason: 'audience',
  count: 7,
  timeFirst: 1,
  timeLast: 2,
}

import { create } from '@bufbuild/protobuf'
import {
  AuditEntry_ExchangeAcceptedSchema as AcceptedSchema,
  type AuditEntry,
  AuditEntrySchema,
  AuditEntry_ExchangesRefusedSchema as CountedSchema,
  AuditEntry_ExchangeRefusedSchema as RefusedSchema,
} from '#gen/portico/identity/v1/federation_pb.js'

export const accepted = {
  case: 'exchangeAccepted',
  value: create(AcceptedSchema, {
    policyId: 'p1',
    policyRevision: 3,
    issuerId: 'iss_1',
    issuerRevision: 7,
    workspaceId: 'wrk_1',
    keyId: 'key_1',
    subject: 'näme ☂',
    tokenId: 'jti',
    expireTime: 900_000,
    clientNetwork: '192.0.2.1',
  }),
} as const

/** An event of a policy whose issuer was deleted, and of which nothing else was known. */
export const refused = {
  case: 'exchangeRefused',
  value: create(RefusedSchema, { policyId: 'p1', reason: 'subject', clientNetwork: '2001:db8::/64' }),
} as const

export const counted = {
  case: 'exchangesRefused',
  value: create(CountedSchema, {
    policyId: 'p2',
    issuerId: 'iss_1',
    keyId: 'key_2',
    reason: 'audience',
    count: 7,
    firstTime: 1,
    lastTime: 2,
  }),
} as const

export function entryOf(organizationId: string, time: number, event: AuditEntry['event']): AuditEntry {
  return create(AuditEntrySchema, { organizationId, time, event })
}

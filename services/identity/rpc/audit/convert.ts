import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type AuditEntry_ChangeSchema,
  AuditEntry_Resource,
  type AuditEntrySchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { AuditEvent, Changed } from '#services/identity/domain/audit.ts'
import type { AuditFilter, ListedAuditEntry } from '#services/identity/ports/audit-log.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { check } from '#shared/rpc/parse.ts'

const resources = enumTable({
  issuer: AuditEntry_Resource.ISSUER,
  policy: AuditEntry_Resource.POLICY,
  'api-key': AuditEntry_Resource.API_KEY,
  organization: AuditEntry_Resource.ORGANIZATION,
  workspace: AuditEntry_Resource.WORKSPACE,
})
const kinds = enumTable({
  'exchange-accepted': ListAuditEntriesRequest_Kind.EXCHANGE_ACCEPTED,
  'exchange-refused': ListAuditEntriesRequest_Kind.EXCHANGE_REFUSED,
  changed: ListAuditEntriesRequest_Kind.CHANGE,
})

/** The kind of entries to list; absent: all. */
export function auditKindFromProto(kind: ListAuditEntriesRequest_Kind | undefined): AuditFilter['kind'] {
  const known = kinds.fromProto(kind)
  check(kind === undefined || known !== undefined, 'kind', 'is not known')
  return known
}

export function auditEntryToProto({ position, entry }: ListedAuditEntry): MessageInitShape<typeof AuditEntrySchema> {
  return { position: BigInt(position), time: timestampFromMs(entry.time), event: eventToProto(entry.event) }
}

function eventToProto(event: AuditEvent): NonNullable<MessageInitShape<typeof AuditEntrySchema>['event']> {
  switch (event.type) {
    case 'exchange-accepted': {
      const { target, policyRevision, issuerRevision, timeExpires, type: _, ...rest } = event
      const revisions = { policyRevision: BigInt(policyRevision), issuerRevision: BigInt(issuerRevision) }
      return {
        case: 'exchangeAccepted',
        value: { ...rest, ...target, ...revisions, expireTime: timestampFromMs(timeExpires) },
      }
    }
    case 'exchange-refused': {
      const { issuerId, found, policyId, target, reason, subject, clientNetwork } = event
      const known = {
        ...(issuerId !== undefined && { issuerId }),
        ...(found !== undefined && { found }),
        ...(target !== undefined && { keyId: target.keyId }),
        ...(subject !== undefined && { subject }),
      }
      return { case: 'exchangeRefused', value: { policyId, reason, clientNetwork, ...known } }
    }
    case 'exchanges-refused': {
      const { policyId, issuerId, target, reason, count, timeFirst, timeLast } = event
      const known = {
        ...(issuerId !== undefined && { issuerId }),
        ...(target !== undefined && { keyId: target.keyId }),
        firstTime: timestampFromMs(timeFirst),
        lastTime: timestampFromMs(timeLast),
      }
      return { case: 'exchangesRefused', value: { policyId, reason, count: BigInt(count), ...known } }
    }
    case 'changed':
      return { case: 'change', value: changeToProto(event) }
  }
}

function changeToProto(change: Changed): MessageInitShape<typeof AuditEntry_ChangeSchema> {
  const { actor, resource, resourceId, before, after } = change
  return {
    ...(actor.kind === 'api-key' && { actorKeyId: actor.keyId }),
    resource: resources.toProto(resource),
    resourceId,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  }
}

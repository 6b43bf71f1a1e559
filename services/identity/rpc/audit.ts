import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { AuditEntry_Resource, type AuditEntrySchema } from '#gen/portico/identity/v1/federation_pb.js'
import {
  type FederationService,
  type ListAuditEntriesRequest,
  ListAuditEntriesRequest_Kind,
  ListAuditEntriesRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { decodePageToken, encodePageToken, pageSizeParser } from '#shared/rpc/pages.ts'
import { check } from '#shared/rpc/parse.ts'
import type { AuditEvent } from '../domain/audit.ts'
import { STEP_NAMES } from '../domain/subject-token/step.ts'
import type { AuditFilter, AuditLog, ListedAuditEntry } from '../ports/audit-log.ts'
import { adminOf } from './callers.ts'

const parsePageSize = pageSizeParser(ListAuditEntriesRequestSchema)
const checkRequest = checkLimits(ListAuditEntriesRequestSchema)
/** Why an exchange by a known policy may be refused. A text that is not a JWT belongs to no policy. */
const REASONS: ReadonlySet<string> = new Set([...STEP_NAMES.filter((step) => step !== 'form'), 'issuer_keys'])
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

/** The audit log of organizations. */
export function auditEntries({ auditLog }: { readonly auditLog: AuditLog }) {
  return {
    async listAuditEntries(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const limit = parsePageSize(request.pageSize)
      const filter = parseFilter(request)
      const scope = `audit ${organizationId} ${JSON.stringify(filter)}`
      const before = request.pageToken === undefined ? undefined : decodePageToken(scope, request.pageToken, isPosition)
      const { items, more } = await auditLog.list(organizationId, filter, before, limit)
      const last = more ? items.at(-1) : undefined
      return {
        entries: items.map(auditEntryToProto),
        nextPageToken: last && encodePageToken(scope, last.position),
      }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

function parseFilter(request: ListAuditEntriesRequest): AuditFilter {
  checkRequest(request)
  const { kind, policyId, issuerId, keyId, reason, subject, since, until } = request
  check(reason === undefined || REASONS.has(reason), 'reason', `must be one of ${[...REASONS].join(', ')}`)
  return {
    kind: auditKindFromProto(kind),
    policyId,
    issuerId,
    keyId,
    reason,
    subject,
    since: since && timestampMs(since),
    until: until && timestampMs(until),
  }
}

function isPosition(payload: unknown): payload is number {
  return Number.isSafeInteger(payload) && (payload as number) > 0
}

/** The kind of entries to list; absent: all. */
function auditKindFromProto(kind: ListAuditEntriesRequest_Kind | undefined): AuditFilter['kind'] {
  const known = kinds.fromProto(kind)
  check(kind === undefined || known !== undefined, 'kind', 'is not known')
  return known
}

function auditEntryToProto({ position, entry }: ListedAuditEntry): MessageInitShape<typeof AuditEntrySchema> {
  return { position: BigInt(position), time: timestampFromMs(entry.time), event: eventToProto(entry.event) }
}

function eventToProto(event: AuditEvent): MessageInitShape<typeof AuditEntrySchema>['event'] {
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
      const value = { policyId, issuerId, reason, found, clientNetwork, keyId: target?.keyId, subject }
      return { case: 'exchangeRefused', value }
    }
    case 'exchanges-refused': {
      const { policyId, issuerId, target, reason, count, timeFirst, timeLast } = event
      const times = { firstTime: timestampFromMs(timeFirst), lastTime: timestampFromMs(timeLast) }
      const value = { policyId, issuerId, reason, count: BigInt(count), keyId: target?.keyId, ...times }
      return { case: 'exchangesRefused', value }
    }
    case 'changed': {
      const { actorKeyId, resource, resourceId, before, after } = event
      return { case: 'change', value: { actorKeyId, resource: resources.toProto(resource), resourceId, before, after } }
    }
  }
}

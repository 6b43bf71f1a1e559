import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type FederationService,
  type ListAuditEntriesRequest,
  ListAuditEntriesRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { STEP_NAMES } from '#services/identity/domain/subject-token/step.ts'
import type { AuditFilter, AuditLog } from '#services/identity/ports/audit-log.ts'
import { pageSizeParser } from '#shared/page-size.ts'
import { decodePageToken, encodePageToken } from '#shared/page-token.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { adminOf } from '../parse.ts'
import { auditEntryToProto, auditKindFromProto } from './convert.ts'

const parsePageSize = pageSizeParser(ListAuditEntriesRequestSchema)
const checkRequest = checkLimits(ListAuditEntriesRequestSchema)
/** Why an exchange by a known policy may be refused. A text that is not a JWT belongs to no policy. */
const REASONS: ReadonlySet<string> = new Set([...STEP_NAMES.filter((step) => step !== 'form'), 'issuer_keys'])

/** Lists the audit entries of an organization, newest first. */
export function listAuditEntries(dependencies: {
  readonly auditLog: AuditLog
}): ServiceImpl<typeof FederationService>['listAuditEntries'] {
  const { auditLog } = dependencies
  return async (request, context) => {
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
  }
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

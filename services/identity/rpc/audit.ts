import type { ServiceImpl } from '@connectrpc/connect'
import {
  type FederationService,
  ListAuditEntriesRequest_KindSchema as KindSchema,
  type ListAuditEntriesRequest,
  ListAuditEntriesRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { decodePageToken, encodePageToken, pageSizeParser } from '#shared/rpc/pages.ts'
import { check, checkEnum } from '#shared/rpc/parse.ts'
import { STEP_NAMES } from '../domain/subject-token/step.ts'
import type { AuditFilter, AuditLog } from '../ports/audit-log.ts'
import { adminOf } from './callers.ts'

const parsePageSize = pageSizeParser(ListAuditEntriesRequestSchema)
const checkRequest = checkLimits(ListAuditEntriesRequestSchema)
/** Why an exchange by a known policy may be refused. A text that is not a JWT belongs to no policy. */
const REASONS: ReadonlySet<string> = new Set([...STEP_NAMES.filter((step) => step !== 'form'), 'issuer_keys'])

export function auditEntries({ auditLog }: { readonly auditLog: AuditLog }) {
  return {
    async listAuditEntries(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const limit = parsePageSize(request.pageSize)
      const filter = filterOf(request)
      const scope = `audit ${organizationId} ${JSON.stringify(filter)}`
      const before = request.pageToken === undefined ? undefined : decodePageToken(scope, request.pageToken, isPosition)
      const { items, more } = await auditLog.list(organizationId, filter, before, limit)
      const last = more ? items.at(-1) : undefined
      return {
        entries: items,
        nextPageToken: last && encodePageToken(scope, last.position),
      }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

/** The filter of a request; rejects with REQUEST_INVALID. */
function filterOf(request: ListAuditEntriesRequest): AuditFilter {
  checkRequest(request)
  const { kind, policyId, issuerId, keyId, reason, subject, since, until } = request
  check(reason === undefined || REASONS.has(reason), 'reason', `must be one of ${[...REASONS].join(', ')}`)
  if (kind !== undefined) checkEnum(KindSchema, kind, 'kind')
  return { kind, policyId, issuerId, keyId, reason, subject, since, until }
}

function isPosition(payload: unknown): payload is number {
  return typeof payload === 'number' && Number.isSafeInteger(payload) && payload > 0
}

import { z } from 'zod'
import { operation } from '#gateway/operation.ts'
import { pageLimit, toPageSize } from '#gateway/records/page.ts'
import { anyMoment } from '#gateway/records/time.ts'
import { limitedBy } from '#gateway/shape.ts'
import { ListAuditEntriesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { issuerId, keyId, ORGANIZATION_PATH, ofOrganization, policyId } from '../common.ts'
import { fromEntry, toKind } from './mappers.ts'
import { auditEntry, kind } from './schemas.ts'

const OFFSET = 'with its offset, `Z` or such as `%2B02:00`'
const when = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))

export const listAuditEntries = operation({
  id: 'audit.list',
  method: 'get',
  path: `${ORGANIZATION_PATH}/audit`,
  params: ofOrganization,
  summary: 'The events in an organization, newest first: exchanges, with the true reason of each refusal, and changes',
  query: z.object({
    limit: pageLimit(ListAuditEntriesRequestSchema),
    cursor: z.string().min(1).optional().meta({ description: '`next_cursor` of an earlier page' }),
    policy_id: policyId.optional(),
    issuer_id: issuerId.optional(),
    key_id: keyId.optional().meta({
      description: 'Exchanges by policies that act as this key, and changes to it',
    }),
    reason: z.string().min(1).optional().meta({
      description:
        'Exchanges that were refused for this reason: the name of a check, as in policies.test, or `issuer_keys`',
    }),
    subject: limitedBy(ListAuditEntriesRequestSchema.field.subject, z.string()).optional().meta({
      description: 'Exchanges of tokens with this `sub`; refused ones, if their signature had been verified',
    }),
    type: kind.optional().meta({ description: '`exchange_refused` includes those that were only counted' }),
    since: anyMoment.optional().meta({ description: `Entries at this time or later; ${OFFSET}` }),
    until: anyMoment.optional().meta({ description: `Entries before this time; ${OFFSET}` }),
  }),
  answer: z.strictObject({ data: z.array(auditEntry), next_cursor: z.string().nullable() }),
  errors: ['INVALID_CURSOR', 'REQUEST_INVALID'],
  handle({ federation }, { params: { organizationID: organizationId }, query, call }) {
    const request = {
      organizationId,
      pageSize: toPageSize(query.limit),
      pageToken: query.cursor,
      policyId: query.policy_id,
      issuerId: query.issuer_id,
      keyId: query.key_id,
      reason: query.reason,
      subject: query.subject,
      kind: query.type && toKind(query.type),
      since: when(query.since),
      until: when(query.until),
    }
    return federation.listAuditEntries(request, call.options())
  },
  present: ({ entries, nextPageToken }) => ({ data: entries.map(fromEntry), next_cursor: nextPageToken ?? null }),
})

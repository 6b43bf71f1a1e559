import type { z } from 'zod'
import type { JsonOf } from '#gateway/kinds.ts'
import { fromMoment } from '#gateway/records/time.ts'
import { fromCost } from '#gateway/records/usage.ts'
import { type AuditEntry, AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { auditEntry, kind } from './schemas.ts'

const kinds = {
  exchange_accepted: Kind.EXCHANGE_ACCEPTED,
  exchange_refused: Kind.EXCHANGE_REFUSED,
  change: Kind.CHANGE,
}

export const toKind = (word: z.output<typeof kind>): Kind => kinds[word]

const resources = enumTable({
  issuer: Resource.ISSUER,
  policy: Resource.POLICY,
  api_key: Resource.API_KEY,
  organization: Resource.ORGANIZATION,
  workspace: Resource.WORKSPACE,
})

export function fromEntry({ position, time, event }: AuditEntry): JsonOf<typeof auditEntry> {
  const shared = { position, time: fromMoment(time) }
  switch (event.case) {
    case 'exchangeAccepted': {
      const { value } = event
      return {
        type: 'exchange_accepted',
        ...shared,
        policy_id: value.policyId,
        issuer_id: value.issuerId,
        policy_revision: value.policyRevision,
        issuer_revision: value.issuerRevision,
        key_id: value.keyId,
        workspace_id: workspaceUuid(value.workspaceId),
        subject: value.subject,
        token_id: value.tokenId,
        expires_at: fromMoment(value.expireTime),
        client_network: value.clientNetwork,
      }
    }
    case 'exchangeRefused': {
      const { policyId, issuerId, keyId, reason, found, subject, clientNetwork } = event.value
      return {
        type: 'exchange_refused',
        ...shared,
        policy_id: policyId,
        issuer_id: issuerId ?? null,
        key_id: keyId ?? null,
        reason,
        found: found ?? null,
        subject: subject ?? null,
        client_network: clientNetwork,
      }
    }
    case 'exchangesRefused': {
      const { policyId, issuerId, keyId, reason, count, firstTime, lastTime } = event.value
      return {
        type: 'exchanges_refused',
        ...shared,
        policy_id: policyId,
        issuer_id: issuerId ?? null,
        key_id: keyId ?? null,
        reason,
        count,
        first_at: fromMoment(firstTime),
        last_at: fromMoment(lastTime),
      }
    }
    case 'change': {
      const { actorKeyId, resource, resourceId, before, after } = event.value
      const word = resources.fromProto(resource)
      if (word === undefined) throw new Error(`identity returned an unknown resource: ${resource}`)
      return {
        type: 'change',
        ...shared,
        resource: word,
        actor_key_id: actorKeyId ?? null,
        resource_id: word === 'workspace' ? workspaceUuid(resourceId) : resourceId,
        before: fromSnapshot(before),
        after: fromSnapshot(after),
      }
    }
    default:
      throw new Error('identity returned an entry without an event')
  }
}

/** A record with the member names of this API, some of which differ from identity's. */
function fromSnapshot(snapshot: JsonObject | undefined): JsonObject | null {
  if (snapshot === undefined) return null
  const { workspace_id, expire_time, limit_nanos, limit_includes_own_keys, ...same } = snapshot
  return {
    ...same,
    ...(typeof workspace_id === 'string' && { workspace_id: workspaceUuid(workspace_id) }),
    ...(expire_time !== undefined && { expires_at: expire_time }),
    ...(limit_nanos !== undefined && { limit: limit_nanos === null ? null : fromCost(BigInt(String(limit_nanos))) }),
    ...(limit_includes_own_keys !== undefined && { include_byok_in_limit: limit_includes_own_keys }),
  }
}

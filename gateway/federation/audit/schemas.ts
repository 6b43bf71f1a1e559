import { z } from 'zod'
import { workspaceId } from '#gateway/records/ids.ts'
import { moment } from '#gateway/records/time.ts'
import { freeObject } from '#gateway/shape.ts'

/** What an entry is about, as a query names it. */
export const kind = z.enum(['exchange_accepted', 'exchange_refused', 'change'])

const resource = z.enum(['issuer', 'policy', 'api_key', 'organization', 'workspace'])
const SNAPSHOT = 'The record as it was then, with the members of that time'
const common = { position: z.int(), time: moment }
const network = z.string().meta({ description: 'Address that the request came from; for IPv6, its /64' })

const deletedIssuer = z.string().nullable().meta({ description: 'Null: the issuer of the policy was deleted' })
const unknownKey = z.string().nullable().meta({ description: 'The key that the policy acts as; null: not recorded' })
const reason = z.string().meta({ description: 'The check that failed, as named in policies.test, or `issuer_keys`' })

/** Something that happened in an organization. */
export const auditEntry = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('exchange_accepted'),
      ...common,
      policy_id: z.string(),
      policy_revision: z.int(),
      issuer_id: z.string(),
      issuer_revision: z.int(),
      key_id: z.string(),
      workspace_id: workspaceId,
      subject: z.string(),
      token_id: z.string().meta({ description: '`jti` of the access token' }),
      expires_at: moment,
      client_network: network,
    }),
    z.strictObject({
      type: z.literal('exchange_refused'),
      ...common,
      policy_id: z.string(),
      issuer_id: deletedIssuer,
      key_id: unknownKey,
      reason,
      found: z.string().nullable().meta({ description: 'What was found instead of what is required' }),
      subject: z.string().nullable().meta({ description: '`sub` of the token; null: its signature was not verified' }),
      client_network: network,
    }),
    z.strictObject({
      type: z.literal('exchanges_refused'),
      ...common,
      policy_id: z.string(),
      issuer_id: deletedIssuer,
      key_id: unknownKey,
      reason,
      count: z.int(),
      first_at: moment,
      last_at: moment,
    }),
    z.strictObject({
      type: z.literal('change'),
      ...common,
      resource,
      resource_id: z.string(),
      actor_key_id: z.string().nullable().meta({ description: 'Key of the admin; null: the operator' }),
      before: freeObject(SNAPSHOT).nullable(),
      after: freeObject(SNAPSHOT).nullable(),
    }),
  ])
  .meta({ id: 'AuditEntry' })

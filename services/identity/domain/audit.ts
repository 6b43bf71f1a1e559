import { create } from '@bufbuild/protobuf'
import { type AuditEntry, type AuditEntry_Resource, AuditEntrySchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** Who makes a change, and when, in milliseconds since the epoch. */
export interface By {
  /** The key of an admin; undefined: the operator, by the command line or settings. */
  readonly actorKeyId?: string
  readonly time: number
}

/** What was changed. The states never contain a secret; an inline key set is represented by its digest. */
export interface Changed {
  readonly organizationId: string
  readonly resource: AuditEntry_Resource
  readonly resourceId: string
  /** Undefined if it was created. */
  readonly before?: JsonObject
  /** Undefined if it was deleted. */
  readonly after?: JsonObject
}

export function changeEntry({ organizationId, ...change }: Changed, { actorKeyId, time }: By): AuditEntry {
  const event = { case: 'change', value: { actorKeyId, ...change } } as const
  return create(AuditEntrySchema, { organizationId, time, event })
}

import { hash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import {
  type AuditEntry,
  AuditEntrySchema,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'
import { defineTable, integer, message, optional, type RowOf, text, toRow } from '#shared/stores/table.ts'

/** By what an entry is found. */
const searched = {
  kind: integer<Kind>(),
  policyId: optional(text()),
  issuerId: optional(text()),
  keyId: optional(text()),
  reason: optional(text()),
  subject: optional(text()),
}
const SELDOM = ['keyId', 'reason', 'subject'] as const

export const audit = defineTable({
  name: 'audit',
  columns: {
    organizationId: text(),
    position: integer(),
    time: integer(),
    ...searched,
    /** An entry that has nothing but its event. */
    event: message(AuditEntrySchema),
  },
  sqlite: {
    primaryKey: ['organizationId', 'position'],
    withoutRowid: true,
    constraints: ['FOREIGN KEY (organizationId) REFERENCES organizations (organizationId)'],
    indexes: {
      auditByTime: '(organizationId, time)',
      auditByPolicy: '(organizationId, policyId, position)',
      auditByIssuer: '(organizationId, issuerId, position)',
      auditByKind: `(organizationId, kind, position) WHERE kind <> ${Kind.EXCHANGE_ACCEPTED}`,
      ...Object.fromEntries(
        SELDOM.map((name) => [`auditBy_${name}`, `(organizationId, ${name}, position) WHERE ${name} IS NOT NULL`]),
      ),
    },
  },
  mongo: {
    indexes: [
      { name: 'auditByPosition', key: { organizationId: 1, position: 1 } },
      { name: 'auditByTime', key: { organizationId: 1, time: 1 } },
      ...(['policyId', 'issuerId', 'kind'] as const).map((name) => {
        return { name: `auditBy_${name}`, key: { organizationId: 1, [name]: 1, position: 1 } }
      }),
      ...SELDOM.map((name) => ({
        name: `auditBy_${name}`,
        key: { organizationId: 1, [name]: 1, position: 1 },
        partialFilterExpression: { [name]: { $gt: '' } },
      })),
    ],
  },
})

/** In SQLite, the only row says from which time on entries must not be removed; it only moves forward. */
export const auditRetention = defineTable({
  name: 'audit_retention',
  columns: { id: integer(), keptFrom: integer() },
  sqlite: { primaryKey: ['id'], constraints: ['CHECK (id = 1)'] },
})

/** What SQLite itself refuses. */
export const AUDIT_RULES = [
  'INSERT INTO audit_retention VALUES (1, 0)',
  refusal('auditUpdate', 'UPDATE ON audit'),
  refusal('auditDelete', 'DELETE ON audit', 'OLD.time >= (SELECT keptFrom FROM audit_retention)'),
  // A row that replaces another one deletes it without firing a trigger.
  refusal(
    'auditReplace',
    'INSERT ON audit',
    'EXISTS (SELECT 1 FROM audit WHERE organizationId = NEW.organizationId AND position = NEW.position)',
  ),
  refusal('auditRetentionUpdate', 'UPDATE ON audit_retention', 'NEW.keptFrom < OLD.keptFrom OR NEW.id <> OLD.id'),
  refusal('auditRetentionDelete', 'DELETE ON audit_retention'),
  refusal('auditRetentionReplace', 'INSERT ON audit_retention'),
]

function refusal(name: string, event: string, condition = 'TRUE'): string {
  return `CREATE TRIGGER ${name} BEFORE ${event} WHEN ${condition}
    BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END`
}

/** Tokens that were exchanged once, until some time after they have expired. MongoDB forgets them by a date. */
export const replayClaims = defineTable({
  name: 'replay_claims',
  columns: {},
  sqlite: {
    columns: { hash: text(), until: integer() },
    primaryKey: ['hash'],
    withoutRowid: true,
    indexes: { replayClaimsUntil: '(until)' },
  },
  mongo: { indexes: [{ name: 'replayClaimsUntil', key: { until: 1 }, expireAfterSeconds: 0 }] },
})

/** The counts of exchanges in MongoDB, one document for each network; see `mongo/exchange-counts.ts`. */
export const exchangeCounts = defineTable({
  name: 'exchange_counts',
  columns: {},
  mongo: { indexes: [{ name: 'countsUntil', key: { timeForgotten: 1 }, expireAfterSeconds: 0 }] },
})

/** How long a claim is kept after its token has expired: a day, plus the difference between the clocks of processes. */
export const CLAIM_KEPT_MS = 86_400_000 + 120_000

/** Identifies a token of an issuer by a few bytes, however long its `jti` is. */
export function useHash(organizationId: string, { issuerId, jti }: TokenUse): string {
  return hash('sha256', JSON.stringify([organizationId, issuerId, jti]), 'base64url')
}

export function entryRow(entry: AuditEntry, position: number): RowOf<typeof audit.columns> {
  const { organizationId, time, event } = entry
  const stored = { organizationId, position, time, event: create(AuditEntrySchema, { event }) }
  return toRow(audit.columns, { ...stored, ...keysOf(entry) })
}

export function toEntry(row: Pick<RowOf<typeof audit.columns>, 'organizationId' | 'position' | 'time' | 'event'>) {
  const { organizationId, position, time, event } = row
  return { ...audit.columns.event.decode(event), organizationId, position, time }
}

function keysOf({ event }: AuditEntry) {
  switch (event.case) {
    case 'exchangeAccepted': {
      const { policyId, issuerId, keyId, subject } = event.value
      return { kind: Kind.EXCHANGE_ACCEPTED, policyId, issuerId, keyId, subject }
    }
    case 'exchangeRefused': {
      const { policyId, issuerId, keyId, reason, subject } = event.value
      return { kind: Kind.EXCHANGE_REFUSED, policyId, issuerId, keyId, reason, subject }
    }
    case 'exchangesRefused': {
      const { policyId, issuerId, keyId, reason } = event.value
      return { kind: Kind.EXCHANGE_REFUSED, policyId, issuerId, keyId, reason }
    }
    case 'change': {
      const { resource, resourceId } = event.value
      const about = (kind: Resource) => (resource === kind ? resourceId : undefined)
      const ids = { policyId: about(Resource.POLICY), issuerId: about(Resource.ISSUER), keyId: about(Resource.API_KEY) }
      return { kind: Kind.CHANGE, ...ids }
    }
    case undefined:
      throw new Error('an entry has no event')
  }
}

import { create } from '@bufbuild/protobuf'
import {
  IssuerSchema,
  IssuerSettingsSchema,
  KeyHealthSchema,
  PolicySchema,
  PolicySettingsSchema,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { By } from '#services/identity/domain/audit.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { FetchAttempt } from '#services/identity/ports/issuer-health.ts'
import type { JsonObject } from '#shared/json.ts'
import {
  type Columns,
  defineTable,
  fromRow,
  integer,
  long,
  message,
  optional,
  type RowOf,
  type Table,
  text,
  toChanges,
  toRow,
} from '#shared/stores/table.ts'
import { issuerSnapshot, policySnapshot } from '../snapshots.ts'

/** What issuers and policies have besides their ids and settings. */
const head = { organizationId: text(), revision: integer(), createTime: integer(), updateTime: integer() }
const ownedBy = 'FOREIGN KEY (organizationId) REFERENCES organizations (organizationId)'
const ORDER = { key: { organizationId: 1, seq: 1 }, unique: true } as const

const issuerColumns = { issuerId: text(), ...head, settings: long(message(IssuerSettingsSchema)) }
const healthColumns = {
  lastSuccessTime: optional(integer()),
  lastFailureTime: optional(integer()),
  lastFailure: optional(text()),
  nextTryTime: optional(integer()),
}

export const issuers = defineTable({
  name: 'issuers',
  columns: {
    ...issuerColumns,
    /** Order of creation in the organization. */
    seq: integer(),
    ...healthColumns,
  },
  sqlite: {
    primaryKey: ['issuerId'],
    constraints: [ownedBy],
    uniqueIndexes: { issuersInOrder: '(organizationId, seq)' },
  },
  mongo: { indexes: [{ name: 'issuersInOrder', ...ORDER }] },
})

const policyColumns = { policyId: text(), ...head, settings: message(PolicySettingsSchema) }

export const policies = defineTable({
  name: 'policies',
  columns: {
    ...policyColumns,
    /** Order of creation in the organization. */
    seq: integer(),
    /** By what the issuer and the key are found: members of the settings. */
    issuerId: text(),
    workspaceId: text(),
    keyId: text(),
  },
  sqlite: {
    primaryKey: ['policyId'],
    constraints: [ownedBy],
    uniqueIndexes: { policiesInOrder: '(organizationId, seq)' },
  },
  mongo: { indexes: [{ name: 'policiesInOrder', ...ORDER }] },
})

export const deletedPolicies = defineTable({
  name: 'deleted_policies',
  columns: {
    policyId: text(),
    organizationId: text(),
    issuerId: text(),
    keyId: text(),
    /** When it was deleted. */
    time: integer(),
  },
  sqlite: { primaryKey: ['policyId'], withoutRowid: true, constraints: [ownedBy] },
  mongo: { indexes: [] },
})

/** A kind of records that organizations create and change. */
export interface RecordKind<R extends Issuer | Policy> {
  readonly resource: Resource
  readonly name: 'issuers' | 'policies'
  readonly table: Table
  /** Name of the column of its id. */
  readonly id: 'issuerId' | 'policyId'
  readonly create: (id: string, organizationId: string, settings: R['settings'], by: By) => R
  readonly toRow: (record: R) => RowOf<Columns>
  /** The fields that a revision changes. */
  readonly toChanges: (record: R) => Partial<RowOf<Columns>>
  readonly fromRow: (row: RowOf<Columns>) => R
  readonly snapshot: (settings: R['settings']) => JsonObject
}

export const issuerKind: RecordKind<Issuer> = {
  resource: Resource.ISSUER,
  name: 'issuers',
  table: issuers,
  id: 'issuerId',
  create: (issuerId, organizationId, settings, { time }) => {
    const message = create(IssuerSchema, { issuerId, organizationId, revision: 1, createTime: time, updateTime: time })
    return { ...message, settings }
  },
  toRow: (issuer) => ({ ...toRow(issuerColumns, issuer), ...NO_HEALTH }),
  toChanges: ({ revision, settings, updateTime }) => {
    return { ...toChanges(issuerColumns, { revision, settings, updateTime }), ...NO_HEALTH }
  },
  fromRow: (row) => {
    const { settings, seq: _, ...members } = fromRow(issuers.columns, row as RowOf<typeof issuers.columns>)
    // Absent until somebody has tried to fetch its keys since its last change.
    const isTried = members.lastSuccessTime !== undefined || members.lastFailureTime !== undefined
    const keyHealth = isTried ? create(KeyHealthSchema, members) : undefined
    return { ...create(IssuerSchema, { ...members, keyHealth }), settings }
  },
  snapshot: issuerSnapshot,
}

export const policyKind: RecordKind<Policy> = {
  resource: Resource.POLICY,
  name: 'policies',
  table: policies,
  id: 'policyId',
  create: (policyId, organizationId, settings, { time }) => {
    const message = create(PolicySchema, { policyId, organizationId, revision: 1, createTime: time, updateTime: time })
    return { ...message, settings }
  },
  toRow: (policy) => ({ ...toRow(policyColumns, policy), ...references(policy) }),
  toChanges: (policy) => {
    const { revision, settings, updateTime } = policy
    return { ...toChanges(policyColumns, { revision, settings, updateTime }), ...references(policy) }
  },
  fromRow: (row) => {
    const { settings, ...members } = fromRow(policyColumns, row as RowOf<typeof policyColumns>)
    return { ...create(PolicySchema, members), settings }
  },
  snapshot: policySnapshot,
}

function references({ settings: { issuerId, workspaceId, keyId } }: Policy) {
  return { issuerId, workspaceId, keyId }
}

/** The health of an issuer after a change. */
const NO_HEALTH = toRow(healthColumns, {})

export function healthChanges({ time, failure, timeNextTry }: FetchAttempt): Partial<RowOf<typeof healthColumns>> {
  const changes = failure === undefined ? { lastSuccessTime: time } : { lastFailureTime: time, lastFailure: failure }
  return toChanges(healthColumns, { ...changes, nextTryTime: failure === undefined ? undefined : timeNextTry })
}

export function deletedPolicyRow({ policyId, organizationId, settings }: Policy, { time }: By) {
  const { issuerId, keyId } = settings
  return { policyId, organizationId, issuerId, keyId, time }
}

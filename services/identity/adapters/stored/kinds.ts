import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { RecordHead } from '#services/identity/domain/revise.ts'
import type { JsonObject } from '#shared/json.ts'
import { issuerSettings, policySettings } from './records.ts'
import { issuerSnapshot, policySnapshot } from './snapshots.ts'

/** One of the kinds of records that organizations make and change. */
export interface RecordKind<S> {
  readonly resource: 'issuer' | 'policy'
  /** Of its table or collection. */
  readonly table: 'issuers' | 'policies'
  readonly snapshot: (settings: S) => JsonObject
  /** The settings alone, of what may be more and have fewer members. */
  readonly settings: (settings: S) => S
  /** The key that a record of this kind names, where the kind has one. */
  readonly target?: (settings: S) => PolicySettings['target']
}

export const issuerKind: RecordKind<IssuerSettings> = {
  resource: 'issuer',
  table: 'issuers',
  snapshot: issuerSnapshot,
  settings: issuerSettings,
}

export const policyKind: RecordKind<PolicySettings> = {
  resource: 'policy',
  table: 'policies',
  snapshot: policySnapshot,
  settings: policySettings,
  target: ({ target }) => target,
}

/** What a store keeps of a record, as its port has it; the settings may lack what is undefined. */
export function toRecord<S>(kind: RecordKind<S>, head: RecordHead, settings: S): RecordHead & S {
  const { id, organizationId, revision, timeCreated, timeUpdated } = head
  return { id, organizationId, revision, timeCreated, timeUpdated, ...kind.settings(settings) }
}

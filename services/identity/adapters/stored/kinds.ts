import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { RecordHead } from '#services/identity/domain/revise.ts'
import type { JsonObject } from '#shared/json.ts'
import { issuerSettings, policySettings } from './records.ts'
import { issuerSnapshot, policySnapshot } from './snapshots.ts'

/** A kind of records that organizations create and change. */
export interface RecordKind<S> {
  readonly resource: 'issuer' | 'policy'
  /** Name of its table or collection. */
  readonly table: 'issuers' | 'policies'
  readonly snapshot: (settings: S) => JsonObject
  /** Copies exactly the settings, from an object that may have more or fewer members. */
  readonly settings: (settings: S) => S
  /** The key that a record of this kind names, if the kind has one. */
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

/** Converts a stored record to that of its port; undefined members may be missing in the stored settings. */
export function toRecord<S>(kind: RecordKind<S>, head: RecordHead, settings: S): RecordHead & S {
  const { id, organizationId, revision, timeCreated, timeUpdated } = head
  return { id, organizationId, revision, timeCreated, timeUpdated, ...kind.settings(settings) }
}

import type { ApiKeyKind } from '#services/identity/domain/api-key.ts'
import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { Plan } from '#services/identity/domain/organization.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import { issuerKind, policyKind, toRecord } from '../stored/kinds.ts'
import { toKey } from './api-keys.ts'

/** All that an exchange needs, by the policy's id: one statement, so that it is of one moment. */
export const GROUND = `SELECT
    p.id, p.organization_id, p.revision, p.settings, p.time_created, p.time_updated, p.workspace_id, p.key_id, p.issuer_id,
    o.name AS o_name, o.plan AS o_plan, o.time_created AS o_created,
    i.revision AS i_revision, i.settings AS i_settings, i.time_created AS i_created, i.time_updated AS i_updated,
    k.kind AS k_kind, k.name AS k_name, k.hash AS k_hash, k.prefix AS k_prefix, k.disabled AS k_disabled,
    k.terms AS k_terms, k.creator_key_id AS k_creator,
    k.time_created AS k_created, k.time_updated AS k_updated, k.time_expires AS k_expires
  FROM policies p JOIN organizations o ON o.id = p.organization_id
  LEFT JOIN issuers i ON i.id = p.issuer_id AND i.organization_id = p.organization_id
  LEFT JOIN workspaces w ON w.id = p.workspace_id AND w.organization_id = p.organization_id
  LEFT JOIN api_keys k ON k.workspace_id = w.id AND k.id = p.key_id
  WHERE p.id = ?`

export interface GroundRow {
  readonly id: string
  readonly organization_id: string
  readonly revision: number
  readonly settings: string
  readonly time_created: number
  readonly time_updated: number
  readonly workspace_id: string
  readonly key_id: string
  readonly issuer_id: string
  readonly o_name: string
  readonly o_plan: Plan
  readonly o_created: number
  readonly i_revision: number | null
  readonly i_settings: string
  readonly i_created: number
  readonly i_updated: number
  readonly k_kind: ApiKeyKind | null
  readonly k_name: string
  readonly k_hash: string
  readonly k_prefix: string
  readonly k_disabled: number
  readonly k_terms: string | null
  readonly k_creator: string | null
  readonly k_created: number
  readonly k_updated: number | null
  readonly k_expires: number | null
}

export function toGround(row: GroundRow): ExchangeGround {
  const { id, organization_id: organizationId, revision } = row
  const head = { id, organizationId, revision, timeCreated: row.time_created, timeUpdated: row.time_updated }
  return {
    policy: toRecord(policyKind, head, JSON.parse(row.settings) as PolicySettings),
    issuer: issuerOf(row),
    organization: { id: organizationId, name: row.o_name, plan: row.o_plan, timeCreated: row.o_created },
    key: keyOf(row),
  }
}

function issuerOf(row: GroundRow): ExchangeGround['issuer'] {
  const { issuer_id: id, organization_id: organizationId, i_revision: revision } = row
  if (revision === null) return undefined
  const head = { id, organizationId, revision, timeCreated: row.i_created, timeUpdated: row.i_updated }
  return toRecord(issuerKind, head, JSON.parse(row.i_settings) as IssuerSettings)
}

function keyOf(row: GroundRow): ExchangeGround['key'] {
  const { key_id: id, workspace_id, k_kind: kind, k_name: name, k_hash: hash, k_prefix: prefix } = row
  if (kind === null) return undefined
  const times = { time_created: row.k_created, time_updated: row.k_updated, time_expires: row.k_expires }
  const state = { disabled: row.k_disabled, terms: row.k_terms, creator_key_id: row.k_creator }
  return toKey({ id, workspace_id, kind, name, hash, prefix, ...state, ...times })
}

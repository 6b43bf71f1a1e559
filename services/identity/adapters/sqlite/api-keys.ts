import { fromJsonString, toJsonString } from '@bufbuild/protobuf'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { type ApiKey, type ApiKeyKind, NO_TERMS } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
import type { NewApiKey } from '#services/identity/ports/identity-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { creatorOf } from '../stored/records.ts'
import { changeEntry, keySnapshot } from '../stored/snapshots.ts'
import { writeEntry } from './audit-entries.ts'

export interface KeyRow {
  readonly workspace_id: string
  readonly id: string
  readonly kind: ApiKeyKind
  readonly name: string
  readonly prefix: string
  readonly disabled: number
  readonly hash: string
  readonly terms: string
  readonly creator_key_id: string | null
  readonly time_created: number
  readonly time_updated: number | null
  readonly time_expires: number | null
}

const INSERT_KEY = `INSERT INTO api_keys
  (workspace_id, id, seq, hash, kind, name, prefix, disabled, terms, creator_key_id, time_created, time_expires)
  VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`
const UPDATE_KEY = `UPDATE api_keys SET name = ?, disabled = ?, terms = ?, time_updated = ?, time_expires = ?
  WHERE workspace_id = ? AND id = ?`
const RAISE = 'UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq, organization_id'

export function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    kind: row.kind,
    name: row.name,
    hash: row.hash,
    prefix: row.prefix,
    disabled: row.disabled === 1,
    terms: fromJsonString(KeyTermsSchema, row.terms),
    creatorKeyId: row.creator_key_id ?? undefined,
    timeCreated: row.time_created,
    timeUpdated: row.time_updated ?? row.time_created,
    timeExpires: row.time_expires ?? undefined,
  }
}

/** Writes a key and its audit entry, in a job of the file. */
export function insertKey(file: SqliteFile, workspaceId: string, newKey: NewApiKey, by: By): ApiKey {
  const owner = file.statement(RAISE).get(workspaceId) as { last_seq: number; organization_id: string } | undefined
  if (owner === undefined) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: workspaceId })
  const { id, hash, kind, name, prefix, terms = NO_TERMS, timeCreated, timeExpires } = newKey
  const creatorKeyId = creatorOf(by)
  const creator = creatorKeyId ?? null
  const expires = timeExpires ?? null
  file
    .statement(INSERT_KEY)
    .run(
      ...[workspaceId, id, owner.last_seq, hash, kind, name, prefix],
      toJsonString(KeyTermsSchema, terms),
      creator,
      timeCreated,
      expires,
    )
  const times = { timeCreated, timeUpdated: timeCreated, timeExpires }
  const key = { id, workspaceId, kind, name, hash, prefix, disabled: false, terms, creatorKeyId, ...times }
  logKey(file, owner.organization_id, by, id, { after: keySnapshot(key) })
  return key
}

/** Writes the mutable members of a key, in a job of the file. */
export function updateKey(file: SqliteFile, key: ApiKey): void {
  const { workspaceId, id, name, disabled, terms, timeUpdated, timeExpires = null } = key
  const changes = [name, disabled ? 1 : 0, toJsonString(KeyTermsSchema, terms), timeUpdated, timeExpires]
  file.statement(UPDATE_KEY).run(...changes, workspaceId, id)
}

/** Writes the audit entry of a change to a key, in a job of the file. */
export function logKey(
  file: SqliteFile,
  organizationId: string,
  by: By,
  resourceId: string,
  change: { readonly before?: JsonObject; readonly after?: JsonObject },
): void {
  writeEntry(file, changeEntry({ organizationId, by, resource: 'api-key', resourceId, ...change }))
}

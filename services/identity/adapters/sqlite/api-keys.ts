import type { ApiKey, ApiKeyKind } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
import type { NewApiKey } from '#services/identity/ports/identity-store.ts'
import { changeEntry, keySnapshot } from '#services/identity/run/snapshots.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { writeEntry } from './audit-log.ts'

export interface KeyRow {
  readonly workspace_id: string
  readonly organization_id: string
  readonly id: string
  readonly seq: number
  readonly kind: ApiKeyKind
  readonly name: string
  readonly prefix: string
  readonly disabled: number
  readonly time_created: number
  readonly time_expires: number | null
}

const INSERT_KEY = `INSERT INTO api_keys
  (workspace_id, id, seq, hash, kind, name, prefix, disabled, time_created, time_expires)
  VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`
const RAISE = 'UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq, organization_id'

export function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    kind: row.kind,
    name: row.name,
    prefix: row.prefix,
    disabled: row.disabled === 1,
    timeCreated: row.time_created,
    timeExpires: row.time_expires ?? undefined,
  }
}

/** Writes a key and its entry, in a job of the file. */
export function insertKey(file: SqliteFile, workspaceId: string, newKey: NewApiKey, by: By): ApiKey {
  const owner = file.statement(RAISE).get(workspaceId) as { last_seq: number; organization_id: string } | undefined
  if (owner === undefined) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: workspaceId })
  const { id, hash, kind, name, prefix, timeCreated, timeExpires } = newKey
  file
    .statement(INSERT_KEY)
    .run(workspaceId, id, owner.last_seq, hash, kind, name, prefix, timeCreated, timeExpires ?? null)
  const key = { id, workspaceId, kind, name, prefix, disabled: false, timeCreated, timeExpires }
  logKey(file, owner.organization_id, by, id, { after: keySnapshot(key) })
  return key
}

/** Writes the entry of a change of a key, in a job of the file. */
export function logKey(
  file: SqliteFile,
  organizationId: string,
  by: By,
  resourceId: string,
  change: { readonly before?: JsonObject; readonly after?: JsonObject },
): void {
  writeEntry(file, changeEntry({ organizationId, by, resource: 'api-key', resourceId, ...change }))
}

import { AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import { type By, changeEntry } from '#services/identity/domain/audit.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, updateRows } from '#shared/stores/sqlite-table.ts'
import { keySnapshot } from '../snapshots.ts'
import { apiKeys, changedKeyRow, keyRow } from '../tables/api-keys.ts'
import { writeEntry } from './audit-entries.ts'

const insert = insertInto(apiKeys)
const RAISE = 'UPDATE workspaces SET lastSeq = lastSeq + 1 WHERE workspaceId = ? RETURNING lastSeq, organizationId'

/** Writes a key and its audit entry, in a job of the file. */
export function insertKey(file: SqliteFile, key: ApiKey, by: By): ApiKey {
  const owner = file.statement(RAISE).get(key.workspaceId) as { lastSeq: number; organizationId: string } | undefined
  if (owner === undefined) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: key.workspaceId })
  insert(file, [{ ...keyRow(key), seq: owner.lastSeq }])
  logKey(file, owner.organizationId, by, key.keyId, { after: keySnapshot(key) })
  return key
}

/** Writes the mutable members of a key, in a job of the file. */
export function updateKey(file: SqliteFile, key: ApiKey): void {
  updateRows(file, apiKeys, changedKeyRow(key), 'WHERE workspaceId = ? AND keyId = ?', key.workspaceId, key.keyId)
}

/** Writes the audit entry of a change to a key, in a job of the file. */
export function logKey(
  file: SqliteFile,
  organizationId: string,
  by: By,
  resourceId: string,
  change: { readonly before?: JsonObject; readonly after?: JsonObject },
): void {
  writeEntry(file, changeEntry({ organizationId, resource: Resource.API_KEY, resourceId, ...change }, by))
}

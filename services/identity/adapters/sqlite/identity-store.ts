import { AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import { type By, changeEntry } from '#services/identity/domain/audit.ts'
import { changeOf, reviseKey } from '#services/identity/domain/revise.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  KeyQuery,
  ListedApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { KeptReads } from '#shared/stores/kept-reads.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectOne, updateRows } from '#shared/stores/sqlite-table.ts'
import { toChanges } from '#shared/stores/table.ts'
import { keySnapshot, workspaceSnapshot } from '../snapshots.ts'
import { apiKeys, deletedKeys, toKey } from '../tables/api-keys.ts'
import { workspaces } from '../tables/organizations.ts'
import { insertKey, logKey, updateKey } from './api-keys.ts'
import { writeEntry } from './audit-entries.ts'
import { insertOrganization } from './organization-store.ts'

const { organizationId, limitNanos } = workspaces.columns
const ownedColumns = { ...apiKeys.columns, organizationId, limitNanos }
const OWNED = `FROM (SELECT k.*, w.organizationId, w.limitNanos
  FROM api_keys k JOIN workspaces w ON w.workspaceId = k.workspaceId)`
const BY_HASH = `${OWNED} WHERE hash = ?`
const BY_ID = `${OWNED} WHERE workspaceId = ? AND keyId = ?`
const OF_ORGANIZATION = `${OWNED} WHERE keyId = ? AND organizationId = ?`
const PAGE = `FROM api_keys WHERE workspaceId = ? AND seq > ? AND (? OR disabled = 0)
  AND (? = '[]' OR kind IN (SELECT value FROM json_each(?))) ORDER BY seq LIMIT ? OFFSET ?`
const ONE = 'WHERE workspaceId = ? AND keyId = ?'
const rememberHash = insertInto(deletedKeys, { or: 'IGNORE' })

/** Workspaces and keys in SQLite. */
export class SqliteIdentityStore implements IdentityStore {
  readonly #file: SqliteFile
  /** Each request reads its key. */
  readonly #keys: KeptReads<OwnedApiKey>

  constructor(file: SqliteFile) {
    this.#file = file
    this.#keys = new KeptReads(file)
  }

  bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped> {
    const by: By = { time: bootstrap.organization.createTime }
    return this.#file.write(() => {
      const bootstrapWorkspace = this.#bootstrapWorkspace()
      if (bootstrapWorkspace === undefined) insertOrganization(this.#file, bootstrap, { isBootstrap: true, by })
      const { workspaceId, organizationId } = bootstrapWorkspace ?? {
        workspaceId: bootstrap.workspace.id,
        organizationId: bootstrap.organization.organizationId,
      }
      const keys = bootstrap.keys.map(({ key, isGiven }) => {
        const there = this.#read(BY_HASH, key.hash)?.key
        if (there !== undefined || (bootstrapWorkspace !== undefined && !isGiven) || this.#isDeleted(key.hash))
          return there
        return insertKey(this.#file, { ...key, workspaceId }, by)
      })
      return { organizationId, workspaceId, first: bootstrapWorkspace === undefined, keys }
    })
  }

  async findKey(hash: string): Promise<OwnedApiKey | undefined> {
    return this.#keys.read(hash, () => this.#read(BY_HASH, hash))
  }

  async getKey(workspace: string, keyId: string): Promise<OwnedApiKey | undefined> {
    return this.#keys.read(`${workspace} ${keyId}`, () => this.#read(BY_ID, workspace, keyId))
  }

  async findOrganizationKey(organizationId: string, keyId: string): Promise<ApiKey | undefined> {
    return this.#read(OF_ORGANIZATION, keyId, organizationId)?.key
  }

  async listKeys(
    workspace: string,
    { after, offset, limit, kinds, enabledOnly }: KeyQuery,
  ): Promise<{ items: readonly ListedApiKey[]; more: boolean }> {
    const any = enabledOnly ? 0 : 1
    const only = JSON.stringify(kinds)
    const values = [workspace, after, any, only, only, limit + 1, offset]
    const rows = selectAll(this.#file, apiKeys.columns, PAGE, ...values)
    const items = rows.slice(0, limit).map((row) => ({ seq: row.seq, key: toKey(row) }))
    return { items, more: rows.length > limit }
  }

  createKey(key: ApiKey, by: By): Promise<ApiKey> {
    return this.#file.write(() => insertKey(this.#file, key, by))
  }

  reviseKey(workspace: string, keyId: string, decide: (key: ApiKey) => ApiKey, by: By): Promise<ApiKey | undefined> {
    return this.#file.write(() => {
      const owned = this.#read(BY_ID, workspace, keyId)
      if (owned === undefined) return undefined
      const revised = reviseKey(owned.key, decide(owned.key), by.time, keySnapshot)
      if (revised === undefined) return owned.key
      updateKey(this.#file, revised.key)
      logKey(this.#file, owned.organizationId, by, keyId, revised.change)
      return revised.key
    })
  }

  deleteKey(workspace: string, keyId: string, by: By): Promise<boolean> {
    return this.#file.write(() => {
      const owned = this.#read(BY_ID, workspace, keyId)
      if (owned === undefined) return false
      rememberHash(this.#file, [{ hash: owned.key.hash }])
      this.#file.statement(`DELETE FROM api_keys ${ONE}`).run(workspace, keyId)
      logKey(this.#file, owned.organizationId, by, keyId, { before: keySnapshot(owned.key) })
      return true
    })
  }

  setWorkspaceLimit(workspace: string, limitNanos: bigint | undefined, by: By): Promise<boolean> {
    return this.#file.write(() => {
      const row = selectOne(this.#file, workspaces.columns, 'FROM workspaces WHERE workspaceId = ?', workspace)
      if (row === undefined) return false
      const change = changeOf(workspaces.columns.limitNanos.decode(row.limitNanos), limitNanos, workspaceSnapshot)
      if (change === undefined) return true
      const changes = toChanges(workspaces.columns, { limitNanos })
      updateRows(this.#file, workspaces, changes, 'WHERE workspaceId = ?', workspace)
      const of = { organizationId: row.organizationId, resource: Resource.WORKSPACE, resourceId: workspace }
      writeEntry(this.#file, changeEntry({ ...of, ...change }, by))
      return true
    })
  }

  #isDeleted(hash: string): boolean {
    return this.#file.statement('SELECT 1 FROM deleted_keys WHERE hash = ?').get(hash) !== undefined
  }

  #bootstrapWorkspace(): { workspaceId: string; organizationId: string } | undefined {
    return selectOne(this.#file, workspaces.columns, 'FROM workspaces WHERE bootstrap = 1')
  }

  #read(from: typeof BY_HASH | typeof BY_ID | typeof OF_ORGANIZATION, ...values: string[]): OwnedApiKey | undefined {
    const row = selectOne(this.#file, ownedColumns, from, ...values)
    if (row === undefined) return undefined
    return {
      organizationId: row.organizationId,
      workspaceLimitNanos: limitNanos.decode(row.limitNanos),
      key: toKey(row),
    }
  }
}

import type { ApiKey } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
import { changeOf, reviseKey } from '#services/identity/domain/revise.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  KeyQuery,
  ListedApiKey,
  NewApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { KeptReads } from '#shared/reads/kept-reads.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { toNanos } from '../stored/records.ts'
import { changeEntry, keySnapshot, workspaceSnapshot } from '../stored/snapshots.ts'
import { insertKey, type KeyRow, logKey, toKey, updateKey } from './api-keys.ts'
import { writeEntry } from './audit-entries.ts'
import { insertOrganization } from './organization-store.ts'

const KEYS =
  'SELECT k.*, w.organization_id, w.limit_nanos FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id ' as const
const BY_HASH = `${KEYS} WHERE k.hash = ?`
const BY_ID = `${KEYS} WHERE k.workspace_id = ? AND k.id = ?`
const OF_ORGANIZATION = `${KEYS} WHERE k.id = ? AND w.organization_id = ?`
const PAGE = `${KEYS} WHERE k.workspace_id = ? AND k.seq > ? AND (? OR k.disabled = 0)
  AND (? = '[]' OR k.kind IN (SELECT value FROM json_each(?))) ORDER BY k.seq LIMIT ? OFFSET ?`
const REMEMBER = `INSERT INTO deleted_keys (hash) SELECT hash FROM api_keys WHERE workspace_id = ? AND id = ?
  ON CONFLICT DO NOTHING`

interface OwnedKeyRow extends KeyRow {
  readonly organization_id: string
  readonly seq: number
  /** Of the workspace. */
  readonly limit_nanos: string | null
}

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
    const by: By = { actor: { kind: 'operator' }, time: bootstrap.timeCreated }
    return this.#file.write(() => {
      const found = this.#bootstrapWorkspace()
      const { workspaceId, organizationId } = found ?? this.#createBootstrapWorkspace(bootstrap, by)
      const keys = bootstrap.keys.map((key) => {
        const there = this.#read(BY_HASH, key.hash)?.key
        if (there !== undefined || (found !== undefined && !key.given) || this.#isDeleted(key.hash)) return there
        return insertKey(this.#file, workspaceId, key, by)
      })
      return { organizationId, workspaceId, first: found === undefined, keys }
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
    const rows = this.#file
      .statement(PAGE)
      .all(workspace, after, any, only, only, limit + 1, offset) as unknown as OwnedKeyRow[]
    const items = rows.slice(0, limit).map((row) => ({ seq: row.seq, key: toKey(row) }))
    return { items, more: rows.length > limit }
  }

  createKey(workspace: string, key: NewApiKey, by: By): Promise<ApiKey> {
    return this.#file.write(() => insertKey(this.#file, workspace, key, by))
  }

  reviseKey(workspace: string, keyId: string, decide: (key: ApiKey) => ApiKey, by: By): Promise<ApiKey | undefined> {
    return this.#file.write(() => {
      const found = this.#read(BY_ID, workspace, keyId)
      if (found === undefined) return undefined
      const revised = reviseKey(found.key, decide(found.key), by.time, keySnapshot)
      if (revised === undefined) return found.key
      updateKey(this.#file, revised.key)
      logKey(this.#file, found.organizationId, by, keyId, revised.change)
      return revised.key
    })
  }

  deleteKey(workspace: string, keyId: string, by: By): Promise<boolean> {
    return this.#file.write(() => {
      const found = this.#read(BY_ID, workspace, keyId)
      if (found === undefined) return false
      this.#file.statement(REMEMBER).run(workspace, keyId)
      this.#file.statement('DELETE FROM api_keys WHERE workspace_id = ? AND id = ?').run(workspace, keyId)
      logKey(this.#file, found.organizationId, by, keyId, { before: keySnapshot(found.key) })
      return true
    })
  }

  setWorkspaceLimit(workspace: string, limitNanos: bigint | undefined, by: By): Promise<boolean> {
    return this.#file.write(() => {
      const row = this.#file
        .statement('SELECT organization_id, limit_nanos FROM workspaces WHERE id = ?')
        .get(workspace)
      if (row === undefined) return false
      const was = toNanos(row.limit_nanos as string | null)
      const change = changeOf(was, limitNanos, workspaceSnapshot)
      if (change === undefined) return true
      const limit = limitNanos === undefined ? null : String(limitNanos)
      this.#file.statement('UPDATE workspaces SET limit_nanos = ? WHERE id = ?').run(limit, workspace)
      const owner = {
        organizationId: row.organization_id as string,
        by,
        resource: 'workspace',
        resourceId: workspace,
      } as const
      writeEntry(this.#file, changeEntry({ ...owner, ...change }))
      return true
    })
  }

  #isDeleted(hash: string): boolean {
    return this.#file.statement('SELECT 1 FROM deleted_keys WHERE hash = ?').get(hash) !== undefined
  }

  #bootstrapWorkspace(): { workspaceId: string; organizationId: string } | undefined {
    const row = this.#file.statement('SELECT id, organization_id FROM workspaces WHERE bootstrap = 1').get()
    return row && { workspaceId: row.id as string, organizationId: row.organization_id as string }
  }

  #createBootstrapWorkspace({ organization, workspace }: Bootstrap, by: By) {
    insertOrganization(this.#file, { ...organization, plan: 'enterprise', workspace }, { bootstrap: true, by })
    return { workspaceId: workspace.id, organizationId: organization.id }
  }

  #read(sql: typeof BY_HASH | typeof BY_ID | typeof OF_ORGANIZATION, ...values: string[]): OwnedApiKey | undefined {
    const row = this.#file.statement(sql).get(...values) as unknown as OwnedKeyRow | undefined
    return (
      row && { organizationId: row.organization_id, workspaceLimitNanos: toNanos(row.limit_nanos), key: toKey(row) }
    )
  }
}

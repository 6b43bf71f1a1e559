import type { ApiKey, ApiKeyKind } from '#services/identity/domain/api-key.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  ListedApiKey,
  NewApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { STEPS } from './schema.ts'

interface KeyRow {
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

const KEYS = 'SELECT k.*, w.organization_id FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id ' as const
const BY_HASH = `${KEYS} WHERE k.hash = ?`
const BY_ID = `${KEYS} WHERE k.workspace_id = ? AND k.id = ?`
const PAGE = `${KEYS} WHERE k.workspace_id = ? AND k.seq > ? ORDER BY k.seq LIMIT ?`
const INSERT_KEY = `INSERT INTO api_keys
  (workspace_id, id, seq, hash, kind, name, prefix, disabled, time_created, time_expires)
  VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`

/** The store in a SQLite file that several processes may have open: the key command writes beside a running server. */
export class SqliteIdentityStore implements IdentityStore {
  readonly #file: SqliteFile

  constructor(path: string) {
    this.#file = new SqliteFile(path, { steps: STEPS, exclusive: false })
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped> {
    return this.#file.write(() => {
      const found = this.#bootstrapWorkspace()
      const { id: workspaceId, organization_id: organizationId } = found ?? this.#createBootstrapWorkspace(bootstrap)
      const keys = bootstrap.keys.map((key) => {
        const there = this.#readOwned(BY_HASH, key.hash)?.key
        if (there !== undefined || (found !== undefined && !key.given)) return there
        return this.#insertKey(workspaceId, key)
      })
      return { organizationId, workspaceId, first: found === undefined, keys }
    })
  }

  async findKey(hash: string): Promise<OwnedApiKey | undefined> {
    return this.#readOwned(BY_HASH, hash)
  }

  async getKey(workspace: string, keyId: string): Promise<OwnedApiKey | undefined> {
    return this.#readOwned(BY_ID, workspace, keyId)
  }

  async listKeys(
    workspace: string,
    after: number,
    limit: number,
  ): Promise<{ items: readonly ListedApiKey[]; more: boolean }> {
    const rows = this.#file.statement(PAGE).all(workspace, after, limit + 1) as unknown as KeyRow[]
    const items = rows.slice(0, limit).map((row) => ({ seq: row.seq, key: toKey(row) }))
    return { items, more: rows.length > limit }
  }

  createKey(workspace: string, key: NewApiKey): Promise<ApiKey> {
    return this.#file.write(() => this.#insertKey(workspace, key))
  }

  setKeyDisabled(workspace: string, keyId: string, disabled: boolean): Promise<ApiKey | undefined> {
    return this.#file.write(() => {
      this.#file
        .statement('UPDATE api_keys SET disabled = ? WHERE workspace_id = ? AND id = ?')
        .run(disabled ? 1 : 0, workspace, keyId)
      return this.#readOwned(BY_ID, workspace, keyId)?.key
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  #bootstrapWorkspace(): { id: string; organization_id: string } | undefined {
    const row = this.#file.statement('SELECT id, organization_id FROM workspaces WHERE bootstrap = 1').get()
    return row as { id: string; organization_id: string } | undefined
  }

  #createBootstrapWorkspace({ organization, workspace, timeCreated }: Bootstrap): {
    id: string
    organization_id: string
  } {
    this.#file
      .statement('INSERT INTO organizations (id, name, time_created) VALUES (?, ?, ?)')
      .run(organization.id, organization.name, timeCreated)
    this.#file
      .statement(
        `INSERT INTO workspaces (id, organization_id, name, bootstrap, last_seq, time_created) VALUES (?, ?, ?, 1, 0, ?)`,
      )
      .run(workspace.id, organization.id, workspace.name, timeCreated)
    return { id: workspace.id, organization_id: organization.id }
  }

  #insertKey(workspace: string, key: NewApiKey): ApiKey {
    const counter = this.#file
      .statement('UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq')
      .get(workspace) as { last_seq: number } | undefined
    if (counter === undefined) throw new Error(`There is no workspace ${workspace}`)
    const { id, hash, kind, name, prefix, timeCreated, timeExpires } = key
    this.#file
      .statement(INSERT_KEY)
      .run(workspace, id, counter.last_seq, hash, kind, name, prefix, timeCreated, timeExpires ?? null)
    return { id, workspaceId: workspace, kind, name, prefix, disabled: false, timeCreated, timeExpires }
  }

  #readOwned(sql: typeof BY_HASH | typeof BY_ID, ...values: string[]): OwnedApiKey | undefined {
    const row = this.#file.statement(sql).get(...values) as unknown as KeyRow | undefined
    return row && { organizationId: row.organization_id, key: toKey(row) }
  }
}

function toKey(row: KeyRow): ApiKey {
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

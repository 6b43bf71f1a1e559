import type { By } from '#services/identity/domain/audit.ts'
import type { Organization, Plan } from '#services/identity/domain/organization.ts'
import { changeOf } from '#services/identity/domain/revise.ts'
import type {
  ListedOrganization,
  NewOrganization,
  OrganizationStore,
} from '#services/identity/ports/organization-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { changeEntry, organizationSnapshot } from '../stored/snapshots.ts'
import { insertKey } from './api-keys.ts'
import { writeEntry } from './audit-entries.ts'

interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly time_created: number
}

/** Organizations in SQLite. */
export class SqliteOrganizationStore implements OrganizationStore {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  createOrganization(organization: NewOrganization, by: By): Promise<Organization> {
    return this.#file.write(() => {
      insertOrganization(this.#file, organization, { bootstrap: false, by })
      insertKey(this.#file, organization.workspace.id, organization.key, by)
      const { id, name, plan } = organization
      return { id, name, plan, timeCreated: by.time }
    })
  }

  async getOrganization(organizationId: string): Promise<Organization | undefined> {
    return this.#read(organizationId)
  }

  async listOrganizations(
    offset: number,
    limit: number,
  ): Promise<{ items: readonly ListedOrganization[]; total: number }> {
    const rows = this.#file
      .statement(
        `SELECT *, (SELECT json_group_array(id ORDER BY rowid) FROM workspaces WHERE organization_id = organizations.id)
           AS workspace_ids
         FROM organizations ORDER BY time_created, rowid LIMIT ? OFFSET ?`,
      )
      .all(limit, offset) as unknown as (OrganizationRow & { readonly workspace_ids: string })[]
    const total = this.#file.statement('SELECT count(*) AS count FROM organizations').get()?.count as number
    return {
      items: rows.map((row) => ({ ...toOrganization(row), workspaceIds: JSON.parse(row.workspace_ids) })),
      total,
    }
  }

  setPlan(organizationId: string, plan: Plan, by: By): Promise<Organization | undefined> {
    return this.#file.write(() => {
      const found = this.#read(organizationId)
      if (found === undefined) return undefined
      const changed = { ...found, plan }
      const change = changeOf(found, changed, organizationSnapshot)
      if (change === undefined) return found
      this.#file.statement('UPDATE organizations SET plan = ? WHERE id = ?').run(plan, organizationId)
      const of = { organizationId, by, resource: 'organization', resourceId: organizationId } as const
      writeEntry(this.#file, changeEntry({ ...of, ...change }))
      return changed
    })
  }

  #read(organizationId: string): Organization | undefined {
    const row = this.#file.statement('SELECT * FROM organizations WHERE id = ?').get(organizationId)
    return row && toOrganization(row as unknown as OrganizationRow)
  }
}

/** Writes an organization with its workspace and its audit entry, in a job of the file. */
export function insertOrganization(
  file: SqliteFile,
  { id, name, plan, workspace }: Omit<NewOrganization, 'key'>,
  { bootstrap, by }: { readonly bootstrap: boolean; readonly by: By },
): void {
  file
    .statement('INSERT INTO organizations (id, name, plan, time_created) VALUES (?, ?, ?, ?)')
    .run(id, name, plan, by.time)
  file
    .statement(
      `INSERT INTO workspaces (id, organization_id, name, bootstrap, last_seq, time_created) VALUES (?, ?, ?, ?, 0, ?)`,
    )
    .run(workspace.id, id, workspace.name, bootstrap ? 1 : 0, by.time)
  const after = organizationSnapshot({ name, plan })
  writeEntry(file, changeEntry({ organizationId: id, by, resource: 'organization', resourceId: id, after }))
}

function toOrganization(row: OrganizationRow): Organization {
  return { id: row.id, name: row.name, plan: row.plan, timeCreated: row.time_created }
}

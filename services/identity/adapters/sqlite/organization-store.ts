import {
  type Organization,
  type Organization_Plan as Plan,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import { type By, changeEntry } from '#services/identity/domain/audit.ts'
import { changeOf } from '#services/identity/domain/revise.ts'
import type { NewOrganization, OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectOne, updateRows } from '#shared/stores/sqlite-table.ts'
import { toRow } from '#shared/stores/table.ts'
import { organizationSnapshot } from '../snapshots.ts'
import { organizations, toOrganization, workspaceRow, workspaces } from '../tables/organizations.ts'
import { insertKey } from './api-keys.ts'
import { writeEntry } from './audit-entries.ts'

const insertOrganizations = insertInto(organizations)
const insertWorkspaces = insertInto(workspaces)
const workspaceIdColumn = { workspaceId: workspaces.columns.workspaceId }

export class SqliteOrganizationStore implements OrganizationStore {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  createOrganization(created: NewOrganization, key: ApiKey, by: By): Promise<Organization> {
    return this.#file.write(() => {
      insertOrganization(this.#file, created, { isBootstrap: false, by })
      insertKey(this.#file, key, by)
      return created.organization
    })
  }

  async getOrganization(organizationId: string): Promise<Organization | undefined> {
    return this.#read(organizationId)
  }

  async listOrganizations(offset: number, limit: number): Promise<{ items: Organization[]; total: number }> {
    const rest = 'FROM organizations ORDER BY createTime, rowid LIMIT ? OFFSET ?'
    const items = selectAll(this.#file, organizations.columns, rest, limit, offset).map((row) => {
      return { ...toOrganization(row), workspaceIds: this.#workspaceIdsOf(row.organizationId) }
    })
    const total = this.#file.statement('SELECT count(*) AS count FROM organizations').get()?.count as number
    return { items, total }
  }

  setPlan(organizationId: string, plan: Plan, by: By): Promise<Organization | undefined> {
    return this.#file.write(() => {
      const organization = this.#read(organizationId)
      if (organization === undefined) return undefined
      const changed = { ...organization, plan }
      const change = changeOf(organization, changed, organizationSnapshot)
      if (change === undefined) return organization
      updateRows(this.#file, organizations, { plan }, 'WHERE organizationId = ?', organizationId)
      const of = { organizationId, resource: Resource.ORGANIZATION, resourceId: organizationId }
      writeEntry(this.#file, changeEntry({ ...of, ...change }, by))
      return changed
    })
  }

  #read(organizationId: string): Organization | undefined {
    const rest = 'FROM organizations WHERE organizationId = ?'
    const row = selectOne(this.#file, organizations.columns, rest, organizationId)
    return row && toOrganization(row)
  }

  #workspaceIdsOf(organizationId: string): string[] {
    const rest = 'FROM workspaces WHERE organizationId = ? ORDER BY rowid'
    return selectAll(this.#file, workspaceIdColumn, rest, organizationId).map(({ workspaceId }) => workspaceId)
  }
}

/** Writes an organization with its workspace and its audit entry, in a job of the file. */
export function insertOrganization(
  file: SqliteFile,
  { organization, workspace }: NewOrganization,
  { isBootstrap, by }: { readonly isBootstrap: boolean; readonly by: By },
): void {
  const { organizationId } = organization
  insertOrganizations(file, [{ ...toRow(organizations.columns, organization), lastPosition: 0 }])
  insertWorkspaces(file, [{ ...workspaceRow(organization, workspace), bootstrap: isBootstrap ? 1 : 0 }])
  const after = organizationSnapshot(organization)
  const of = { organizationId, resource: Resource.ORGANIZATION, resourceId: organizationId }
  writeEntry(file, changeEntry({ ...of, after }, by))
}

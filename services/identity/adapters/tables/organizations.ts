import { create } from '@bufbuild/protobuf'
import {
  type Organization,
  OrganizationSchema,
  type Organization_Plan as Plan,
} from '#gen/portico/identity/v1/federation_pb.js'
import {
  decimal,
  defineTable,
  flag,
  fromRow,
  integer,
  optional,
  type RowOf,
  text,
  toRow,
} from '#shared/stores/table.ts'

export const organizations = defineTable({
  name: 'organizations',
  columns: { organizationId: text(), name: text(), plan: integer<Plan>(), createTime: integer() },
  sqlite: {
    columns: {
      /** Of the last entry in its audit log. */
      lastPosition: integer(),
    },
    primaryKey: ['organizationId'],
  },
  mongo: { indexes: [] },
})

export const workspaces = defineTable({
  name: 'workspaces',
  columns: {
    workspaceId: text(),
    organizationId: text(),
    name: text(),
    /** Number of the key that was created last. */
    lastSeq: integer(),
    /** Spending limit of all keys together, in nano-dollars. */
    limitNanos: optional(decimal()),
    createTime: integer(),
  },
  sqlite: {
    columns: {
      /** Whether the deployment started with it. */
      bootstrap: flag(),
    },
    primaryKey: ['workspaceId'],
    constraints: ['FOREIGN KEY (organizationId) REFERENCES organizations (organizationId)'],
    uniqueIndexes: { workspaceOfBootstrap: '(bootstrap) WHERE bootstrap = 1' },
  },
  mongo: { indexes: [] },
})

/** Names the workspace that the deployment started with; the only document in its collection is `bootstrap`. */
export const deployment = defineTable({
  name: 'deployment',
  columns: { organizationId: text(), workspaceId: text() },
  mongo: { indexes: [] },
})

/** Counts the entries in the audit log of an organization, whose id is the key. */
export const auditPositions = defineTable({
  name: 'audit_positions',
  columns: { last: integer() },
  mongo: { indexes: [] },
})

/**
 * Written first by every change in an organization, whose id is the key, so that the next change conflicts with it
 * until it is committed.
 */
export const changeLocks = defineTable({
  name: 'change_locks',
  columns: { changes: integer() },
  mongo: { indexes: [] },
})

export function toOrganization(row: RowOf<typeof organizations.columns>): Organization {
  return create(OrganizationSchema, fromRow(organizations.columns, row))
}

export function workspaceRow(
  organization: Organization,
  workspace: { readonly id: string; readonly name: string },
): RowOf<typeof workspaces.columns> {
  const { organizationId, createTime } = organization
  const { id: workspaceId, name } = workspace
  return toRow(workspaces.columns, { workspaceId, organizationId, name, lastSeq: 0, limitNanos: undefined, createTime })
}

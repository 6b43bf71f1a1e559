import { defineTable, integer, text, wide } from '#shared/stores/table.ts'

/** Owner of the account of a whole workspace; no key has that id. */
export const WORKSPACE = '*'

export const accountColumns = {
  totalNanos: wide(),
  day: integer(),
  dayNanos: wide(),
  weekNanos: wide(),
  monthNanos: wide(),
  minute: integer(),
  minuteRequests: integer(),
  minuteTokens: wide(),
  heldNanos: wide(),
  heldRequests: integer(),
}

/** Of each key and each workspace. */
export const accounts = defineTable({
  name: 'accounts',
  columns: { workspaceId: text(), owner: text(), ...accountColumns },
  sqlite: { primaryKey: ['workspaceId', 'owner'], withoutRowid: true },
  mongo: {
    columns: {
      /** Incremented by each change, so that nobody overwrites a change made since they read it. */
      revision: integer(),
    },
    indexes: [
      {
        name: 'accountsWithHolds',
        key: { heldRequests: 1 },
        partialFilterExpression: { heldRequests: { $gt: 0 } },
      },
      { name: 'accountsOfEndings', key: { workspaceId: 1, 'holds.ending': 1 } },
    ],
  },
})

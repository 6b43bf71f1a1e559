import type { Hold } from '#services/inference/domain/ledger/account.ts'
import { defineTable, documents, flag, integer, optional, text, wide } from '#shared/stores/table.ts'

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

/** What one request holds in an account while it runs. */
export interface HoldEntry extends Hold {
  /** Generated for each opening: whoever removes the hold counts the cost of the request, so it is counted once. */
  readonly name: string
  readonly requestId: string
  readonly process: string
  /** The request is being closed. */
  readonly ending?: boolean
  /** Its output then, for whoever has to settle it. */
  readonly outputTokens?: bigint
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
      holds: documents<HoldEntry>({
        name: text(),
        requestId: text(),
        process: text(),
        nanos: wide(),
        inputTokens: wide(),
        minute: integer(),
        ending: optional(flag()),
        outputTokens: optional(wide()),
      }),
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

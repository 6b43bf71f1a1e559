import { bytes, defineTable, integer, text } from '#shared/stores/table.ts'

/** The keys that sign access tokens; in MongoDB, all of them are in one document. */
export const signingKeys = defineTable({
  name: 'signing_keys',
  columns: {
    kid: text(),
    x: text(),
    y: text(),
    sealed: bytes(),
    timeCreated: integer(),
    timeUsed: integer(),
  },
  sqlite: {
    columns: { seq: integer() },
    primaryKey: ['seq'],
    constraints: ['UNIQUE (kid)'],
  },
})

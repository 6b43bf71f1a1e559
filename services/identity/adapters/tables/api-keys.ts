import { create } from '@bufbuild/protobuf'
import {
  type ApiKey,
  ApiKeySchema,
  KeyTermsSchema,
  type Principal_Kind as Kind,
} from '#gen/portico/identity/v1/identity_pb.js'
import { NO_TERMS } from '#services/identity/domain/api-key.ts'
import {
  decimal,
  defineTable,
  flag,
  fromRow,
  integer,
  message,
  optional,
  type RowOf,
  text,
  toChanges,
  toRow,
} from '#shared/stores/table.ts'

const keyColumns = {
  workspaceId: text(),
  keyId: text(),
  hash: text(),
  kind: integer<Kind>(),
  name: text(),
  prefix: text(),
  disabled: flag(),
  terms: message(KeyTermsSchema),
  creatorKeyId: optional(text()),
  createTime: integer(),
  updateTime: integer(),
  expireTime: optional(integer()),
}

export const apiKeys = defineTable({
  name: 'api_keys',
  columns: {
    ...keyColumns,
    /** Order of creation in the workspace. */
    seq: integer(),
  },
  sqlite: {
    primaryKey: ['workspaceId', 'keyId'],
    constraints: ['FOREIGN KEY (workspaceId) REFERENCES workspaces (workspaceId)'],
    indexes: { apiKeysById: '(keyId)' },
    uniqueIndexes: { apiKeysByHash: '(hash)', apiKeysBySeq: '(workspaceId, seq)' },
  },
  mongo: {
    // Members of the workspace, so that one read returns everything: the former never changes, and the latter is
    // changed in the workspace and all of its keys in one transaction.
    columns: { organizationId: text(), workspaceLimitNanos: optional(decimal()) },
    indexes: [
      { name: 'apiKeysByHash', key: { hash: 1 }, unique: true },
      { name: 'apiKeysBySeq', key: { workspaceId: 1, seq: 1 }, unique: true },
      { name: 'apiKeysById', key: { keyId: 1 } },
    ],
  },
})

/** The hashes of deleted keys; in MongoDB, they are the keys of the documents. */
export const deletedKeys = defineTable({
  name: 'deleted_keys',
  columns: {},
  sqlite: { columns: { hash: text() }, primaryKey: ['hash'], withoutRowid: true },
  mongo: { indexes: [] },
})

type KeyRow = RowOf<typeof keyColumns>

export function toKey(row: KeyRow): ApiKey {
  return create(ApiKeySchema, fromRow(keyColumns, row))
}

export function keyRow(key: ApiKey): KeyRow {
  return toRow(keyColumns, { ...key, terms: key.terms ?? NO_TERMS })
}

export function changedKeyRow({ name, disabled, terms = NO_TERMS, updateTime, expireTime }: ApiKey): Partial<KeyRow> {
  return toChanges(keyColumns, { name, disabled, terms, updateTime, expireTime })
}

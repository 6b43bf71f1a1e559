import type { SqliteStep } from '#shared/stores/sqlite-schema.ts'
import { AUDIT_FILTERS, FEDERATION } from './federation-tables.ts'

const FIRST = [
  `CREATE TABLE IF NOT EXISTS organizations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    time_created INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE IF NOT EXISTS workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    bootstrap INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    time_created INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX IF NOT EXISTS workspaces_bootstrap ON workspaces (bootstrap) WHERE bootstrap = 1',
  `CREATE TABLE IF NOT EXISTS api_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    disabled INTEGER NOT NULL,
    time_created INTEGER NOT NULL,
    time_expires INTEGER,
    PRIMARY KEY (workspace_id, id)
  ) STRICT`,
  'CREATE UNIQUE INDEX IF NOT EXISTS api_keys_hash ON api_keys (hash)',
  'CREATE UNIQUE INDEX IF NOT EXISTS api_keys_seq ON api_keys (workspace_id, seq)',
]

const SIGNING_KEYS = `CREATE TABLE IF NOT EXISTS signing_keys (
  seq INTEGER NOT NULL PRIMARY KEY,
  kid TEXT NOT NULL UNIQUE,
  x TEXT NOT NULL,
  y TEXT NOT NULL,
  sealed BLOB NOT NULL,
  time_created INTEGER NOT NULL,
  time_used INTEGER NOT NULL
) STRICT`

const DELETED_KEYS = 'CREATE TABLE IF NOT EXISTS deleted_keys (hash TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID'

const TERMS = [
  // JSON; null: none.
  'ALTER TABLE api_keys ADD COLUMN terms TEXT',
  'ALTER TABLE api_keys ADD COLUMN creator_key_id TEXT',
  // Null: never.
  'ALTER TABLE api_keys ADD COLUMN time_updated INTEGER',
  // Digits, since a number could be too small for them; null: no limit.
  'ALTER TABLE workspaces ADD COLUMN limit_nanos TEXT',
]

/** The schema steps of `identity.sqlite`. */
export const STEPS: readonly SqliteStep[] = [
  { version: 1, name: 'the first schema', up: (database) => database.exec(FIRST.join(';\n')) },
  { version: 2, name: 'signing keys', up: (database) => database.exec(SIGNING_KEYS) },
  { version: 3, name: 'federation', up: (database) => database.exec(FEDERATION.join(';\n')) },
  { version: 4, name: 'deleted keys', up: (database) => database.exec(DELETED_KEYS) },
  { version: 5, name: 'terms of keys', up: (database) => database.exec(TERMS.join(';\n')) },
  { version: 6, name: 'filters of the audit log', up: (database) => database.exec(AUDIT_FILTERS.join(';\n')) },
]

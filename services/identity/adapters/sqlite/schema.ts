import { digestOf } from '#shared/stores/schema-step.ts'
import type { SqliteSchema } from '#shared/stores/sqlite-schema.ts'
import { FEDERATION } from './federation-tables.ts'

const CREATE = [
  `CREATE TABLE organizations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL DEFAULT 'enterprise',
    last_position INTEGER NOT NULL DEFAULT 0,
    time_created INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    bootstrap INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    -- Digits, since a number could be too small for them; null: no limit.
    limit_nanos TEXT,
    time_created INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX workspaces_bootstrap ON workspaces (bootstrap) WHERE bootstrap = 1',
  `CREATE TABLE api_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    disabled INTEGER NOT NULL,
    terms TEXT NOT NULL,
    creator_key_id TEXT,
    time_created INTEGER NOT NULL,
    -- Null: never.
    time_updated INTEGER,
    time_expires INTEGER,
    PRIMARY KEY (workspace_id, id)
  ) STRICT`,
  'CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash)',
  'CREATE UNIQUE INDEX api_keys_seq ON api_keys (workspace_id, seq)',
  'CREATE INDEX api_keys_id ON api_keys (id)',
  'CREATE TABLE deleted_keys (hash TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID',
  `CREATE TABLE signing_keys (
    seq INTEGER NOT NULL PRIMARY KEY,
    kid TEXT NOT NULL UNIQUE,
    x TEXT NOT NULL,
    y TEXT NOT NULL,
    sealed BLOB NOT NULL,
    time_created INTEGER NOT NULL,
    time_used INTEGER NOT NULL
  ) STRICT`,
  ...FEDERATION,
]

/** The schema of `identity.sqlite`. */
export const SCHEMA: SqliteSchema = { create: CREATE, digest: digestOf(CREATE), steps: [] }

import { digestOf } from '#shared/stores/schema-step.ts'
import type { SqliteSchema } from '#shared/stores/sqlite-schema.ts'

const CREATE = [
  `CREATE TABLE presets (
    workspace TEXT NOT NULL, slug TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT, status TEXT NOT NULL,
    status_updated_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, creator_key_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (workspace, slug)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX presets_updated ON presets (workspace, updated_at)',
  `CREATE TABLE preset_versions (
    preset_id TEXT NOT NULL, version INTEGER NOT NULL, id TEXT NOT NULL, config TEXT NOT NULL, system_prompt TEXT,
    settings TEXT NOT NULL, creator_key_id TEXT NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (preset_id, version)
  ) STRICT, WITHOUT ROWID`,
]

/** The schema of `presets.sqlite`. */
export const PRESET_SCHEMA: SqliteSchema = { create: CREATE, digest: digestOf(CREATE), steps: [] }

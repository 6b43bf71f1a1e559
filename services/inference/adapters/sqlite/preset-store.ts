import type { DesignatedPreset, Preset, PresetInUse, PresetVersion } from '#services/inference/domain/preset/preset.ts'
import {
  PAGE_CHARACTERS,
  type Page,
  type PresetDraft,
  type PresetStore,
  type Slice,
} from '#services/inference/ports/preset-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { PRESET_SCHEMA } from './preset-schema.ts'

const RAISE = `INSERT INTO presets (workspace, slug, id, name, status, created_at, updated_at, creator_key_id, version)
  VALUES (?1, ?2, ?3, ?2, 'active', ?4, ?4, ?5, 1)
  ON CONFLICT DO UPDATE SET version = version + 1, updated_at = max(updated_at, excluded.updated_at)
  RETURNING id, version`
const INSERT = `INSERT INTO preset_versions (preset_id, version, id, config, system_prompt, settings, creator_key_id,
  created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const HEAD = `p.workspace, p.slug, p.id, p.name, p.description, p.status, p.status_updated_at, p.created_at, p.updated_at,
  p.creator_key_id, v.id AS version_id`
const JOINED = 'FROM presets p JOIN preset_versions v ON v.preset_id = p.id AND v.version = p.version'
const GET = `SELECT ${HEAD}, v.version, v.config, v.system_prompt, v.settings, v.creator_key_id AS version_creator,
  v.created_at AS version_created_at ${JOINED} WHERE p.workspace = ? AND p.slug = ?`
const IN_USE = `SELECT p.id AS preset_id, p.status, v.id, v.version, v.system_prompt, v.settings ${JOINED}
  WHERE p.workspace = ? AND p.slug = ?`
const LIST = `SELECT ${HEAD} ${JOINED} WHERE p.workspace = ? ORDER BY p.updated_at DESC, p.slug LIMIT ? OFFSET ?`
const COUNT = 'SELECT count(*) AS count FROM presets WHERE workspace = ?'
const LATEST = 'SELECT id, version FROM presets WHERE workspace = ? AND slug = ?'
const VERSION = `SELECT id, preset_id, version, config, system_prompt, settings, creator_key_id AS version_creator,
  created_at AS version_created_at, id AS version_id FROM preset_versions`
const VERSIONS = `${VERSION} WHERE preset_id = ? ORDER BY version LIMIT ? OFFSET ?`
const ONE_VERSION = `${VERSION} WHERE preset_id = (SELECT id FROM presets WHERE workspace = ? AND slug = ?) AND version = ?`

type Row = Readonly<Record<string, unknown>>

/** The presets in a SQLite file that this process owns. */
export class SqlitePresetStore implements PresetStore {
  readonly #file: SqliteFile

  constructor(path: string) {
    this.#file = new SqliteFile(path, { schema: PRESET_SCHEMA, exclusive: true })
  }

  createVersion(workspace: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset> {
    const { id, presetId, config, systemPrompt = null, settings, creatorKeyId, createdAt } = draft
    const said = JSON.stringify(config)
    const meant = JSON.stringify(settings)
    return this.#file.write(() => {
      const head = this.#file.statement(RAISE).get(workspace, slug, presetId, createdAt, creatorKeyId) as Row
      const insert = this.#file.statement(INSERT)
      insert.run(head.id as string, head.version as number, id, said, systemPrompt, meant, creatorKeyId, createdAt)
      const row = this.#file.statement(GET).get(workspace, slug) as Row
      return designatedOf(row)
    })
  }

  async get(workspace: string, slug: string): Promise<DesignatedPreset | undefined> {
    const row = this.#file.statement(GET).get(workspace, slug)
    return row && designatedOf(row)
  }

  async inUse(workspace: string, slug: string): Promise<PresetInUse | undefined> {
    const row = this.#file.statement(IN_USE).get(workspace, slug)
    return row && inUseOf(row)
  }

  async list(workspace: string, { offset, limit }: Slice): Promise<Page<Preset>> {
    const rows = this.#file.statement(LIST).all(workspace, limit, offset)
    return { items: rows.map(presetOf), total: this.#file.statement(COUNT).get(workspace)?.count as number }
  }

  async listVersions(
    workspace: string,
    slug: string,
    { offset, limit }: Slice,
  ): Promise<Page<PresetVersion> | undefined> {
    const latest = this.#file.statement(LATEST).get(workspace, slug)
    if (latest === undefined) return undefined
    const rows = this.#file.statement(VERSIONS).iterate(latest.id as string, limit, offset)
    const items: PresetVersion[] = []
    let characters = 0
    for (const row of rows) {
      items.push(versionOf(row, latest.id))
      characters += charactersOf(row)
      if (characters > PAGE_CHARACTERS) break
    }
    return { items, total: latest.version as number }
  }

  async getVersion(workspace: string, slug: string, version: number): Promise<PresetVersion | undefined> {
    const row = this.#file.statement(ONE_VERSION).get(workspace, slug, version)
    return row && versionOf(row, row.preset_id)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }
}

function designatedOf(row: Row): DesignatedPreset {
  return { preset: presetOf(row), designated: versionOf(row, row.id) }
}

function inUseOf(row: Row): PresetInUse {
  return {
    presetId: row.preset_id as string,
    status: row.status as Preset['status'],
    versionId: row.id as string,
    version: row.version as number,
    systemPrompt: (row.system_prompt as string | null) ?? undefined,
    settings: row.settings as string,
  }
}

function charactersOf({ config, settings, system_prompt: systemPrompt }: Row): number {
  return String(config).length + String(settings).length + String(systemPrompt ?? '').length
}

function presetOf(row: Row): Preset {
  return {
    id: row.id as string,
    workspace: row.workspace as string,
    slug: row.slug as string,
    name: row.name as string,
    description: (row.description as string | null) ?? undefined,
    status: row.status as Preset['status'],
    statusUpdatedAt: (row.status_updated_at as number | null) ?? undefined,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    creatorKeyId: row.creator_key_id as string,
    designatedVersionId: row.version_id as string,
  }
}

function versionOf(row: Row, presetId: unknown): PresetVersion {
  return {
    id: row.version_id as string,
    presetId: presetId as string,
    version: row.version as number,
    config: JSON.parse(row.config as string) as JsonObject,
    systemPrompt: (row.system_prompt as string | null) ?? undefined,
    settings: JSON.parse(row.settings as string) as JsonObject,
    creatorKeyId: row.version_creator as string,
    createdAt: row.version_created_at as number,
  }
}

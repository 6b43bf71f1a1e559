import type { Preset, PresetVersion } from '#gen/portico/inference/v1/preset_service_pb.js'
import {
  type DesignatedPreset,
  PAGE_CHARACTERS,
  type Page,
  type PresetDraft,
  type PresetInUse,
  type PresetStore,
  type Slice,
} from '#services/inference/ports/preset-store.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectEach, selectOne } from '#shared/stores/sqlite-table.ts'
import { integer } from '#shared/stores/table.ts'
import { SettingsReader } from '../preset-settings.ts'
import { SQLITE_PRESETS } from '../schema.ts'
import {
  charactersIn,
  designate,
  inUse,
  presets,
  presetVersions,
  toPreset,
  toVersion,
  usedColumns,
  type VersionRow,
} from '../tables/presets.ts'

const putPreset = insertInto(presets, { or: 'REPLACE' })
const insertVersion = insertInto(presetVersions)
const headColumns = { ...presets.columns, version: integer() }
const ONE_VERSION = 'FROM presetVersions WHERE presetId = ? AND version = ?'

/** The presets in a SQLite file that this process owns. */
export class SqlitePresetStore implements PresetStore {
  readonly #file: SqliteFile
  readonly #settings = new SettingsReader()

  constructor(path: string) {
    this.#file = new SqliteFile(path, { schema: SQLITE_PRESETS, exclusive: true })
  }

  createVersion(workspaceId: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset> {
    return this.#file.write(() => {
      const head = this.#head(workspaceId, slug)
      const { preset, version } = designate(
        { workspaceId, slug },
        draft,
        head && { preset: head, version: head.version },
      )
      putPreset(this.#file, [{ ...preset, version: version.version }])
      insertVersion(this.#file, [version])
      return { preset: toPreset(preset), designatedVersion: toVersion(version) }
    })
  }

  async get(workspaceId: string, slug: string): Promise<DesignatedPreset | undefined> {
    const head = this.#head(workspaceId, slug)
    const version = head && this.#version(head.presetId, head.version)
    return head && version && { preset: toPreset(head), designatedVersion: toVersion(version) }
  }

  async inUse(workspaceId: string, slug: string): Promise<PresetInUse | undefined> {
    const head = this.#head(workspaceId, slug)
    const version = head && selectOne(this.#file, usedColumns, ONE_VERSION, head.presetId, head.version)
    return version && inUse(head, version, this.#settings.read(version))
  }

  async list(workspaceId: string, { offset, limit }: Slice): Promise<Page<Preset>> {
    const order = 'FROM presets WHERE workspaceId = ? ORDER BY updateTime DESC, slug LIMIT ? OFFSET ?'
    const rows = selectAll(this.#file, presets.columns, order, workspaceId, limit, offset)
    const count = this.#file.statement('SELECT count(*) AS count FROM presets WHERE workspaceId = ?').get(workspaceId)
    return { items: rows.map(toPreset), total: count?.count as number }
  }

  async listVersions(
    workspaceId: string,
    slug: string,
    { offset, limit }: Slice,
  ): Promise<Page<PresetVersion> | undefined> {
    const head = this.#head(workspaceId, slug)
    if (head === undefined) return undefined
    const order = 'FROM presetVersions WHERE presetId = ? ORDER BY version LIMIT ? OFFSET ?'
    const items: PresetVersion[] = []
    let characters = 0
    for (const row of selectEach(this.#file, presetVersions.columns, order, head.presetId, limit, offset)) {
      items.push(toVersion(row))
      characters += charactersIn(row)
      if (characters > PAGE_CHARACTERS) break
    }
    return { items, total: head.version }
  }

  async getVersion(workspaceId: string, slug: string, version: number): Promise<PresetVersion | undefined> {
    const head = this.#head(workspaceId, slug)
    const row = head && this.#version(head.presetId, version)
    return row && toVersion(row)
  }

  #head(workspaceId: string, slug: string) {
    return selectOne(this.#file, headColumns, 'FROM presets WHERE workspaceId = ? AND slug = ?', workspaceId, slug)
  }

  #version(presetId: string, version: number): VersionRow | undefined {
    return selectOne(this.#file, presetVersions.columns, ONE_VERSION, presetId, version)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }
}

import { create } from '@bufbuild/protobuf'
import { type GenerationRequest, GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type Preset,
  PresetSchema,
  type PresetVersion,
  PresetVersionSchema,
  Preset_Status as Status,
} from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetDraft, PresetInUse } from '#services/inference/ports/preset-store.ts'
import type { JsonObject } from '#shared/json.ts'
import {
  defineTable,
  document,
  fromRow,
  integer,
  json,
  long,
  message,
  optional,
  type RowOf,
  text,
  toRow,
} from '#shared/stores/table.ts'

const versionColumns = {
  versionId: text(),
  presetId: text(),
  version: integer(),
  systemPrompt: optional(long(text())),
}

/** What requests read of a version. */
export const usedColumns = { ...versionColumns, settings: long(message(GenerationRequestSchema)) }

/** What clients read of a version. */
const publicColumns = {
  ...versionColumns,
  config: long(json<JsonObject>('any members')),
  creatorKeyId: optional(text()),
  createTime: integer(),
}

export const presetVersions = defineTable({
  name: 'presetVersions',
  columns: { ...usedColumns, ...publicColumns },
  sqlite: { primaryKey: ['presetId', 'version'], withoutRowid: true },
  mongo: { indexes: [{ name: 'versionsOfPresets', key: { presetId: 1, version: 1 }, unique: true }] },
})

export type VersionRow = RowOf<typeof presetVersions.columns>

export const presets = defineTable({
  name: 'presets',
  columns: {
    presetId: text(),
    slug: text(),
    workspaceId: text(),
    name: text(),
    description: optional(text()),
    status: integer<Status>(),
    statusUpdateTime: optional(integer()),
    createTime: integer(),
    updateTime: integer(),
    creatorKeyId: optional(text()),
    designatedVersionId: text(),
  },
  sqlite: {
    columns: {
      /** The designated one, which MongoDB has as a whole in the document, so that a request needs one read. */
      version: integer(),
    },
    primaryKey: ['workspaceId', 'slug'],
    withoutRowid: true,
    indexes: { presetsByTime: '(workspaceId, updateTime)' },
  },
  mongo: {
    columns: { designated: document<VersionRow>(presetVersions.columns) },
    indexes: [{ name: 'presetsByTime', key: { workspaceId: 1, updateTime: -1, slug: 1 } }],
  },
})

export type PresetRow = RowOf<typeof presets.columns>
export type UsedRow = RowOf<typeof usedColumns>

export interface PresetKey {
  readonly workspaceId: string
  readonly slug: string
}

export function toPreset(row: PresetRow): Preset {
  return create(PresetSchema, fromRow(presets.columns, row))
}

export function toVersion(row: VersionRow): PresetVersion {
  return create(PresetVersionSchema, fromRow(publicColumns, row))
}

export function inUse({ status }: Pick<PresetRow, 'status'>, row: UsedRow, settings: GenerationRequest): PresetInUse {
  return { status, ...fromRow(versionColumns, row), settings }
}

/** The length of a version's text. */
export function charactersIn({ config, settings, systemPrompt }: VersionRow): number {
  return config.length + settings.length + (systemPrompt ?? '').length
}

/** The rows of a new version, which is designated, and of its preset, which may exist already. */
export function designate(
  key: PresetKey,
  draft: PresetDraft,
  before: { readonly preset: PresetRow; readonly version: number } | undefined,
): { readonly preset: PresetRow; readonly version: VersionRow } {
  const preset = before?.preset ?? newPreset(key, draft)
  const { presetId } = preset
  // The clocks of processes may differ.
  const updateTime = Math.max(draft.createTime, preset.updateTime)
  return {
    preset: { ...preset, designatedVersionId: draft.versionId, updateTime },
    version: toRow(presetVersions.columns, { ...draft, presetId, version: (before?.version ?? 0) + 1 }),
  }
}

function newPreset(key: PresetKey, { presetId, versionId, creatorKeyId, createTime }: PresetDraft): PresetRow {
  const times = { createTime, updateTime: createTime }
  const made = { presetId, creatorKeyId, ...times, designatedVersionId: versionId }
  return toRow(presets.columns, { ...key, name: key.slug, status: Status.ACTIVE, ...made })
}

import type { DesignatedPreset, Preset, PresetInUse, PresetVersion } from '#services/inference/domain/preset/preset.ts'
import type { PresetDraft } from '#services/inference/ports/preset-store.ts'
import type { JsonObject } from '#shared/json.ts'

/** A preset with its designated version, so that a request needs one read. */
export interface PresetDocument {
  readonly _id: PresetKey
  readonly workspace: string
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly status: Preset['status']
  readonly statusUpdatedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly creatorKeyId: string
  readonly designated: StoredVersion
}

export interface PresetKey {
  readonly workspace: string
  readonly slug: string
}

/** Free-form members are stored as text, since MongoDB does not accept every member name. */
export interface StoredVersion {
  readonly id: string
  readonly version: number
  readonly config: string
  readonly systemPrompt: string | null
  readonly settings: string
  readonly creatorKeyId: string
  readonly createdAt: Date
}

export interface VersionDocument extends Omit<StoredVersion, 'version'> {
  readonly _id: { readonly presetId: string; readonly version: number }
  readonly presetId: string
}

/** The version made from a draft. */
export function storedVersion({ presetId: _, ...draft }: PresetDraft, version: number): StoredVersion {
  return {
    ...draft,
    version,
    config: JSON.stringify(draft.config),
    systemPrompt: draft.systemPrompt ?? null,
    settings: JSON.stringify(draft.settings),
    createdAt: new Date(draft.createdAt),
  }
}

/** A preset with its first version. */
export function newPreset(_id: PresetKey, draft: PresetDraft, designated: StoredVersion): PresetDocument {
  const { createdAt } = designated
  return {
    _id,
    workspace: _id.workspace,
    id: draft.presetId,
    name: _id.slug,
    description: null,
    status: 'active',
    statusUpdatedAt: null,
    createdAt,
    updatedAt: createdAt,
    creatorKeyId: draft.creatorKeyId,
    designated,
  }
}

/** A preset with a further version. The clocks of processes may differ. */
export function withVersion(found: PresetDocument, designated: StoredVersion): PresetDocument {
  const { createdAt } = designated
  return { ...found, designated, updatedAt: new Date(Math.max(+createdAt, +found.updatedAt)) }
}

export function designatedOf(document: PresetDocument): DesignatedPreset {
  return { preset: presetOf(document), designated: versionOf(document.designated, document.id) }
}

export function inUseOf({ id: presetId, status, designated }: PresetDocument): PresetInUse {
  const { id: versionId, version, systemPrompt, settings } = designated
  return { presetId, status, versionId, version, systemPrompt: systemPrompt ?? undefined, settings }
}

export function presetOf({ _id, designated, ...document }: PresetDocument): Preset {
  return {
    id: document.id,
    ..._id,
    name: document.name,
    description: document.description ?? undefined,
    status: document.status,
    statusUpdatedAt: document.statusUpdatedAt?.getTime(),
    createdAt: document.createdAt.getTime(),
    updatedAt: document.updatedAt.getTime(),
    creatorKeyId: document.creatorKeyId,
    designatedVersionId: designated.id,
  }
}

export function versionOf(stored: StoredVersion, presetId: string): PresetVersion {
  return {
    id: stored.id,
    presetId,
    version: stored.version,
    config: JSON.parse(stored.config) as JsonObject,
    systemPrompt: stored.systemPrompt ?? undefined,
    settings: JSON.parse(stored.settings) as JsonObject,
    creatorKeyId: stored.creatorKeyId,
    createdAt: stored.createdAt.getTime(),
  }
}

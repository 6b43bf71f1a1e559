import type { JsonObject } from '#shared/json.ts'

/** Whether requests can use a preset: to them only an active one exists. */
export type PresetStatus = 'active' | 'disabled' | 'archived'

/** Settings of requests under a name. Times are milliseconds since the epoch. */
export interface Preset {
  /** A UUID. */
  readonly id: string
  readonly workspace: string
  readonly slug: string
  /** For people. */
  readonly name: string
  readonly description: string | undefined
  readonly status: PresetStatus
  /** Undefined: never. */
  readonly statusUpdatedAt: number | undefined
  readonly createdAt: number
  /** When the last version was created. */
  readonly updatedAt: number
  /** Key that created it; empty: the local operator did. */
  readonly creatorKeyId: string
  readonly designatedVersionId: string
}

/** What a preset says, or said at some time. A version never changes. */
export interface PresetVersion {
  /** A UUID. */
  readonly id: string
  readonly presetId: string
  /** Counts from 1, without gaps. */
  readonly version: number
  /** The settings as they were given. */
  readonly config: JsonObject
  /** Instructions for requests that bring none; undefined: none. */
  readonly systemPrompt: string | undefined
  /** What the settings mean: a `portico.inference.v1.GenerationRequest` in the JSON form of protobuf. */
  readonly settings: JsonObject
  /** Key that created it; empty: the local operator did. */
  readonly creatorKeyId: string
  readonly createdAt: number
}

/** A preset with the version that requests are served with. */
export interface DesignatedPreset {
  readonly preset: Preset
  readonly designated: PresetVersion
}

/** What requests are served with. */
export interface PresetInUse {
  readonly presetId: string
  readonly status: PresetStatus
  readonly versionId: string
  readonly version: number
  readonly systemPrompt: string | undefined
  /** As in PresetVersion, as text: who knows the version has no need to read it. */
  readonly settings: string
}

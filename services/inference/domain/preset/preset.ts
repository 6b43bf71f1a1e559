import type { JsonObject } from '#shared/json.ts'

/** Whether requests can use a preset: for them, only an active one exists. */
export type PresetStatus = 'active' | 'disabled' | 'archived'

/** Named settings of requests. Times are milliseconds since the epoch. */
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
  /** The key that created it; empty: the local operator did. */
  readonly creatorKeyId: string
  readonly designatedVersionId: string
}

/** The content of a preset, now or in the past. A version never changes. */
export interface PresetVersion {
  /** A UUID. */
  readonly id: string
  readonly presetId: string
  /** Counts from 1, without gaps. */
  readonly version: number
  /** The settings as they were given. */
  readonly config: JsonObject
  /** Instructions for requests that have none; undefined: none. */
  readonly systemPrompt: string | undefined
  /** The meaning of the settings: a `portico.inference.v1.GenerationRequest` in protobuf's JSON format. */
  readonly settings: JsonObject
  /** The key that created it; empty: the local operator did. */
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
  /** Like that of PresetVersion, but as text, which need not be parsed if the version is known already. */
  readonly settings: string
}

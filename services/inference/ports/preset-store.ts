import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import type { Preset, PresetVersion } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { JsonObject } from '#shared/json.ts'

type Version = Readonly<Omit<PresetVersion, '$typeName' | '$unknown'>>

/** A version to be created, without its number; `presetId` is for a preset that is new. */
export interface PresetDraft extends Omit<Version, 'version'> {
  readonly config: JsonObject
  /** What `config` means; only members that a preset may set, and the model. */
  readonly settings: GenerationRequest
}

/** A preset with the version that requests are served with. */
export interface DesignatedPreset {
  readonly preset: Preset
  readonly designatedVersion: PresetVersion
}

/** What requests are served with. */
export interface PresetInUse extends Pick<Version, 'presetId' | 'versionId' | 'version' | 'systemPrompt'> {
  /** For requests, only an active preset exists. */
  readonly status: Preset['status']
  /** As in the draft. */
  readonly settings: GenerationRequest
}

/** A part of a list, in order, and the number of all items. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/**
 * Maximum text of the versions on one page, plus the version that exceeds it: a version may have more than a megabyte.
 */
export const PAGE_CHARACTERS = 4 << 20

/** The requested part of a list: at most `limit` items (1 or more), after the first `offset`. */
export interface Slice {
  readonly offset: number
  readonly limit: number
}

/**
 * The presets of workspaces, found by their slug. Several processes may write to a store in MongoDB. Every read returns
 * what was committed when it was called, by any process: nothing is cached, so that a new version takes effect with the
 * next request. Presets of other workspaces do not exist.
 */
export interface PresetStore extends AsyncDisposable {
  /**
   * Writes the next version of a preset and designates it. If the preset does not exist, it is created as active, with
   * its slug as name. Atomic, and durable once it resolves; versions have no gaps. Rejects with PRESET_CONFLICT
   * (metadata `slug`), having written nothing, if others did the same until the time limit.
   */
  createVersion(workspace: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset>
  /** In one read. */
  get(workspace: string, slug: string): Promise<DesignatedPreset | undefined>
  /** The part of it that a request needs, in one read. */
  inUse(workspace: string, slug: string): Promise<PresetInUse | undefined>
  /** The most recently changed first. */
  list(workspace: string, slice: Slice): Promise<Page<Preset>>
  /**
   * Oldest first, and fewer than requested if they have more than `PAGE_CHARACTERS` of text; undefined: there is no
   * such preset.
   */
  listVersions(workspace: string, slug: string, slice: Slice): Promise<Page<PresetVersion> | undefined>
  /** Undefined: there is no such preset, or it has no such version. */
  getVersion(workspace: string, slug: string, version: number): Promise<PresetVersion | undefined>
}

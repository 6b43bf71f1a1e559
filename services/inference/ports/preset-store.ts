import type { DesignatedPreset, Preset, PresetInUse, PresetVersion } from '../domain/preset/preset.ts'

/** A version to be created, without its number. */
export interface PresetDraft extends Omit<PresetVersion, 'presetId' | 'version'> {
  /** Id of the preset, if it is new. */
  readonly presetId: string
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

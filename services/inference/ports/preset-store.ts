import type { DesignatedPreset, Preset, PresetInUse, PresetVersion } from '../domain/preset/preset.ts'

/** A version that is to be created, but for its number. */
export interface PresetDraft extends Omit<PresetVersion, 'presetId' | 'version'> {
  /** Of the preset, where it is new. */
  readonly presetId: string
}

/** Some of all items, in their order, and how many there are in all. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** So much text of versions is on one page, and the version that goes beyond it: a version may have more than a megabyte. */
export const PAGE_CHARACTERS = 4 << 20

/** Which part of a list is wanted: at most `limit` (1 or more), after the first `offset`. */
export interface Slice {
  readonly offset: number
  readonly limit: number
}

/**
 * The presets of workspaces, each found by its slug. Several processes may write one store where it is MongoDB. Every read returns what was
 * committed when it was called, whichever process wrote it: nothing is cached, so that a new version counts from the next request on.
 * Another workspace's preset does not exist.
 */
export interface PresetStore extends AsyncDisposable {
  /**
   * Writes the next version of a preset, and the preset where there is none, active and with its slug as name; the version is
   * designated. Atomic, and durable once it resolves: versions have no gaps. Rejects with PRESET_CONFLICT (metadata `slug`), and has
   * written nothing, when others did the same until the time was over.
   */
  createVersion(workspace: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset>
  /** In one read. */
  get(workspace: string, slug: string): Promise<DesignatedPreset | undefined>
  /** Likewise, what a request needs of it. */
  inUse(workspace: string, slug: string): Promise<PresetInUse | undefined>
  /** Those that were changed last first. */
  list(workspace: string, slice: Slice): Promise<Page<Preset>>
  /** Oldest first, and fewer than are wanted where they have more than `PAGE_CHARACTERS` of text; undefined: there is no such preset. */
  listVersions(workspace: string, slug: string, slice: Slice): Promise<Page<PresetVersion> | undefined>
  /** Undefined: there is no such preset, or it has no such version. */
  getVersion(workspace: string, slug: string, version: number): Promise<PresetVersion | undefined>
}

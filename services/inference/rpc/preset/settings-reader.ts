import type { PresetInUse } from '#services/inference/domain/preset/preset.ts'
import type { JsonObject } from '#shared/json.ts'

const MOST = 1_000
const MOST_CHARACTERS = 8 << 20

/**
 * Parses the settings of versions of presets, which never change: each only once, while it is among the thousand that
 * were used last, with at most 8 million characters together. Results must not be changed.
 */
export class SettingsReader<T> {
  readonly #read: (stored: JsonObject) => T
  /** By id of the version; the most recently used is last. */
  readonly #known = new Map<string, { readonly found: T; readonly characters: number }>()
  #characters = 0

  constructor(read: (stored: JsonObject) => T) {
    this.#read = read
  }

  read({ versionId, settings }: Pick<PresetInUse, 'versionId' | 'settings'>): T {
    const known = this.#known.get(versionId)
    if (known !== undefined) {
      this.#known.delete(versionId)
      this.#known.set(versionId, known)
      return known.found
    }
    const found = this.#read(JSON.parse(settings) as JsonObject)
    this.#known.set(versionId, { found, characters: settings.length })
    this.#characters += settings.length
    for (const [oldest, { characters }] of this.#known) {
      if (this.#known.size <= MOST && this.#characters <= MOST_CHARACTERS) break
      this.#known.delete(oldest)
      this.#characters -= characters
    }
    return found
  }
}

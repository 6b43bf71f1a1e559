import type { PresetInUse } from '#services/inference/domain/preset/preset.ts'
import type { JsonObject } from '#shared/json.ts'

const MOST = 1_000
const MOST_CHARACTERS = 8 << 20

/**
 * Reads the settings of presets' versions, which never change: each once, as long as it is one of the thousand that were used last, which
 * have at most 8 million characters together. Whoever gets what was read must not change it.
 */
export class SettingsReader<T> {
  readonly #read: (stored: JsonObject) => T
  /** By the id of the version; what was used last comes last. */
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

import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { type UsedRow, usedColumns } from './tables/presets.ts'

const MOST = 1_000
const MOST_CHARACTERS = 8 << 20

/**
 * Parses the settings of versions of presets, which never change: each only once, while it is among the thousand that
 * were used last, with at most 8 million characters together.
 */
export class SettingsReader {
  /** By id of the version; the most recently used is last. */
  readonly #cache = new Map<string, { readonly settings: GenerationRequest; readonly characters: number }>()
  #characters = 0

  read({ versionId, settings: stored }: Pick<UsedRow, 'versionId' | 'settings'>): GenerationRequest {
    const hit = this.#cache.get(versionId)
    if (hit !== undefined) {
      this.#cache.delete(versionId)
      this.#cache.set(versionId, hit)
      return hit.settings
    }
    const settings = usedColumns.settings.decode(stored)
    this.#cache.set(versionId, { settings, characters: stored.length })
    this.#characters += stored.length
    for (const [oldest, { characters }] of this.#cache) {
      if (this.#cache.size <= MOST && this.#characters <= MOST_CHARACTERS) break
      this.#cache.delete(oldest)
      this.#characters -= characters
    }
    return settings
  }
}

import { LRUCache } from 'lru-cache'
import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { type UsedRow, usedColumns } from './tables/presets.ts'

/**
 * Parses the settings of versions of presets, which never change: each only once, while it is among the thousand that
 * were used last, with at most 8 million characters together.
 */
export class SettingsReader {
  /** By id of the version. */
  readonly #cache = new LRUCache<string, GenerationRequest>({ max: 1_000, maxSize: 8 << 20 })

  read({ versionId, settings: stored }: Pick<UsedRow, 'versionId' | 'settings'>): GenerationRequest {
    const hit = this.#cache.get(versionId)
    if (hit !== undefined) return hit
    const settings = usedColumns.settings.decode(stored)
    this.#cache.set(versionId, settings, { size: stored.length })
    return settings
  }
}

import { create, fromJsonString, toJsonString } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import { check } from '#shared/rpc/parse.ts'
import { presetSettings } from '../domain/preset/apply-preset.ts'
import { namedModel } from '../domain/preset/reference.ts'
import type { PresetInUse } from '../ports/preset-store.ts'
import { checkGeneration } from './generations.ts'

/** A request has these members besides its settings. */
const { requestId, messages } = create(GenerationRequestSchema, {
  requestId: 'preset',
  messages: [{ role: Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hi' } } }] }],
})

/** Converts the settings of a request for storage. Rejects with REQUEST_INVALID if no request could have them. */
export function toStoredSettings(settings: GenerationRequest): string {
  check(namedModel(settings.model).slug === undefined, 'model', 'must not name a preset')
  checkGeneration({ ...settings, requestId, messages })
  return toJsonString(GenerationRequestSchema, presetSettings(settings))
}

/** Reads stored settings. Members that a newer program has stored are left out. */
export function fromStoredSettings(stored: string): GenerationRequest {
  const settings = fromJsonString(GenerationRequestSchema, stored, { ignoreUnknownFields: true })
  checkGeneration({ ...settings, requestId, messages })
  return settings
}

const MOST = 1_000
const MOST_CHARACTERS = 8 << 20

/**
 * Parses the settings of versions of presets, which never change: each only once, while it is among the thousand that
 * were used last, with at most 8 million characters together. Results must not be changed.
 */
export class SettingsReader<T> {
  readonly #parse: (stored: string) => T
  /** By id of the version; the most recently used is last. */
  readonly #cache = new Map<string, { readonly result: T; readonly characters: number }>()
  #characters = 0

  constructor(parse: (stored: string) => T) {
    this.#parse = parse
  }

  read({ versionId, settings }: Pick<PresetInUse, 'versionId' | 'settings'>): T {
    const hit = this.#cache.get(versionId)
    if (hit !== undefined) {
      this.#cache.delete(versionId)
      this.#cache.set(versionId, hit)
      return hit.result
    }
    const result = this.#parse(settings)
    this.#cache.set(versionId, { result, characters: settings.length })
    this.#characters += settings.length
    for (const [oldest, { characters }] of this.#cache) {
      if (this.#cache.size <= MOST && this.#characters <= MOST_CHARACTERS) break
      this.#cache.delete(oldest)
      this.#characters -= characters
    }
    return result
  }
}

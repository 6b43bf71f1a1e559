import { create, fromJson, toJson } from '@bufbuild/protobuf'
import {
  type GenerationRequest as GenerationMessage,
  GenerationRequestSchema,
  Message_Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import { PRESET_MEMBERS, type PresetSettings } from '#services/inference/domain/preset/apply-preset.ts'
import { namedModel } from '#services/inference/domain/preset/reference.ts'
import type { JsonObject } from '#shared/json.ts'
import { check } from '#shared/rpc/parse.ts'
import { parseGeneration } from '../parse-generation.ts'

/** A request has these members besides its settings. */
const { requestId, messages } = create(GenerationRequestSchema, {
  requestId: 'preset',
  messages: [{ role: Message_Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hi' } } }] }],
})

/** Converts the settings of a request for storage. Rejects with REQUEST_INVALID if no request could have them. */
export function toStoredSettings(message: GenerationMessage): JsonObject {
  check(namedModel(message.model).slug === undefined, 'model', 'must not name a preset')
  parseGeneration({ ...message, requestId, messages })
  const kept = create(GenerationRequestSchema, pick(message, ['model', ...PRESET_MEMBERS]))
  return toJson(GenerationRequestSchema, kept) as JsonObject
}

/** Reads stored settings. Members that a newer program has stored are left out. */
export function fromStoredSettings(stored: JsonObject): {
  readonly model: string | undefined
  readonly settings: PresetSettings
} {
  const kept = fromJson(GenerationRequestSchema, stored, { ignoreUnknownFields: true })
  const request = parseGeneration({ ...kept, requestId, messages })
  return { model: kept.model, settings: request }
}

function pick<T extends object, const K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const members = names.map((name) => [name, from[name]] as const).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as Pick<T, K>
}

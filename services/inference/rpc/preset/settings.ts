import { create, fromJson, toJson } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  Message_Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import { presetSettings } from '#services/inference/domain/preset/apply-preset.ts'
import { namedModel } from '#services/inference/domain/preset/reference.ts'
import type { JsonObject } from '#shared/json.ts'
import { check } from '#shared/rpc/parse.ts'
import { checkGeneration } from '../check-generation.ts'

/** A request has these members besides its settings. */
const { requestId, messages } = create(GenerationRequestSchema, {
  requestId: 'preset',
  messages: [{ role: Message_Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hi' } } }] }],
})

/** Converts the settings of a request for storage. Rejects with REQUEST_INVALID if no request could have them. */
export function toStoredSettings(settings: GenerationRequest): JsonObject {
  check(namedModel(settings.model).slug === undefined, 'model', 'must not name a preset')
  checkGeneration({ ...settings, requestId, messages })
  return toJson(GenerationRequestSchema, presetSettings(settings)) as JsonObject
}

/** Reads stored settings. Members that a newer program has stored are left out. */
export function fromStoredSettings(stored: JsonObject): GenerationRequest {
  const settings = fromJson(GenerationRequestSchema, stored, { ignoreUnknownFields: true })
  checkGeneration({ ...settings, requestId, messages })
  return settings
}

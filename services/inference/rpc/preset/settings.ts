import { create, toJson } from '@bufbuild/protobuf'
import {
  type GenerationRequest as GenerationMessage,
  GenerationRequestSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** Members of a request that a preset may set. */
const MEMBERS = [
  'model',
  'tools',
  'hostedTools',
  'toolChoice',
  'parallelToolCalls',
  'maxOutputTokens',
  'sampling',
  'reasoning',
  'responseFormat',
  'verbosity',
  'prediction',
  'serviceTier',
  'speed',
  'providerBody',
  'extensions',
  'routing',
  'automaticCache',
  'notApplied',
] as const satisfies readonly (keyof GenerationMessage)[]

/** The settings of a request as they are stored. Rejects with REQUEST_INVALID where a request could not have them. */
export function toStoredSettings(message: GenerationMessage): JsonObject {
  const kept = Object.fromEntries(
    MEMBERS.map((name) => [name, message[name]]).filter(([, value]) => value !== undefined),
  )
  return toJson(GenerationRequestSchema, create(GenerationRequestSchema, kept)) as JsonObject
}

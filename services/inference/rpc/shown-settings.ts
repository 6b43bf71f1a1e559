import {
  type GenerationRequest as GenerationMessage,
  GenerationRequestSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { makeMessage } from '#shared/messages/make-message.ts'
import type { ResponseFormat } from '../domain/generation.ts'
import type { PresetSettings } from '../domain/preset/apply-preset.ts'
import { modes } from './parse-tools.ts'

/** The settings that a response repeats, as a message. */
export function shownSettings(settings: PresetSettings): GenerationMessage {
  const { sampling, reasoning, toolChoice } = settings
  const init = {
    tools: settings.tools.map(({ cache: _, ...tool }) => tool),
    hostedTools: settings.hostedTools,
    toolChoice: toolChoice && { ...toolChoice, mode: modes.toProto(toolChoice.mode) },
    parallelToolCalls: settings.parallelToolCalls,
    maxOutputTokens: settings.maxOutputTokens,
    maxToolCalls: settings.maxToolCalls,
    sampling: sampling && {
      temperature: sampling.temperature,
      topP: sampling.topP,
      frequencyPenalty: sampling.frequencyPenalty,
      presencePenalty: sampling.presencePenalty,
      topLogProbabilities: sampling.topLogProbabilities,
    },
    reasoning,
    responseFormat: settings.responseFormat && { format: formatToProto(settings.responseFormat) },
    verbosity: settings.verbosity,
    serviceTier: settings.serviceTier,
    extensions: settings.extensions,
  }
  return makeMessage(GenerationRequestSchema, init as Parameters<typeof makeMessage<typeof GenerationRequestSchema>>[1])
}

/** Other forms have no place in a response. */
function formatToProto(format: ResponseFormat) {
  if (format.type === 'json-object') return { case: 'jsonObject', value: {} } as const
  if (format.type !== 'json-schema') return undefined
  const { name, schema, strict, description } = format
  return { case: 'jsonSchema', value: { name, schema, strict, description } } as const
}

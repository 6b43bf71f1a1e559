import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { type Endpoint, UNKNOWN_POLICY } from '../domain/endpoint.ts'
import type { Setting } from '../domain/left-out.ts'
import { endpointOf, isAllowed, type ModelEntry, type ProviderEntry } from '../domain/model-list.ts'
import type { PriceList } from '../ports/price-list.ts'
import { withPrice } from '../run/choose-endpoint.ts'

/** The settings behind the names that clients know; those without a setting reach every model. */
const PARAMETERS: Readonly<Record<string, Setting | undefined>> = {
  max_tokens: undefined,
  max_completion_tokens: undefined,
  tools: undefined,
  tool_choice: undefined,
  parallel_tool_calls: 'parallel_tool_calls',
  response_format: 'response_format',
  structured_outputs: 'response_format',
  temperature: 'sampling.temperature',
  top_p: 'sampling.top_p',
  top_k: 'sampling.top_k',
  min_p: 'sampling.min_p',
  top_a: 'sampling.top_a',
  frequency_penalty: 'sampling.frequency_penalty',
  presence_penalty: 'sampling.presence_penalty',
  repetition_penalty: 'sampling.repetition_penalty',
  seed: 'sampling.seed',
  stop: 'sampling.stop',
  logit_bias: 'sampling.logit_bias',
  logprobs: 'sampling.top_log_probabilities',
  top_logprobs: 'sampling.top_log_probabilities',
  prediction: 'prediction',
  reasoning: 'reasoning.effort',
  reasoning_effort: 'reasoning.effort',
  include_reasoning: 'reasoning.effort',
  verbosity: 'verbosity',
}

const MODALITIES: Readonly<Record<ProviderEntry['protocol'], readonly string[]>> = {
  openai: ['text', 'image', 'file', 'audio'],
  'openai-responses': ['text', 'image', 'file'],
  anthropic: ['text', 'image', 'file'],
  echo: ['text', 'image', 'file', 'audio', 'video'],
}

/** The handlers of models and providers; see inference_service.proto. */
export function modelHandlers(dependencies: {
  readonly modelList: readonly ProviderEntry[]
  readonly defaultModel: string
  readonly prices: PriceList
}): Pick<ServiceImpl<typeof InferenceService>, 'listModels' | 'getProvider'> {
  const { modelList, defaultModel, prices } = dependencies
  const listed = modelList.flatMap((provider) =>
    provider.models.map((model) => ({ provider, model, endpoint: endpointOf(provider, model) })),
  )
  const providers = modelList.map(({ id: providerId, protocol }) => ({ providerId, protocol }))
  return {
    async listModels({ allowed }, context) {
      principalOf(context)
      const matches = listed.filter(({ endpoint }) => isAllowed(allowed, endpoint))
      const models = matches.map(async ({ provider, model, endpoint }) =>
        toModel(provider, model, await withPrice(endpoint, prices)),
      )
      return { models: await Promise.all(models), providers, defaultModel }
    },
    getProvider({ providerId }, context) {
      principalOf(context)
      const provider = providers.find((each) => each.providerId === providerId)
      if (provider === undefined) throw new Rejection('PROVIDER_NOT_FOUND', { provider_id: providerId })
      return { provider }
    },
  }
}

function toModel({ protocol }: ProviderEntry, model: ModelEntry, endpoint: Endpoint) {
  const { providerId, modelId, contextLength, outputLimit, pricing, policy = UNKNOWN_POLICY, without = [] } = endpoint
  const { displayName, description, inputModalities = MODALITIES[protocol], outputModalities = ['text'] } = model
  const left = new Set<Setting | undefined>(without)
  return {
    name: `${providerId}/${modelId}`,
    providerId,
    modelId,
    displayName,
    description,
    contextLength,
    outputLimit,
    pricing,
    inputModalities: [...inputModalities],
    outputModalities: [...outputModalities],
    supportedParameters: Object.keys(PARAMETERS).filter((name) => !left.has(PARAMETERS[name])),
    quantization: policy.quantization,
    retainsNothing: policy.retainsNothing,
    distillable: policy.distillable,
  }
}

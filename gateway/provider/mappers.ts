import type { Model, Provider } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromCost } from '../records/usage.ts'
import type { modelInfo, providerInfo } from './schemas.ts'

const NOTHING = { headers: {}, body: {} }

export function fromModel(model: Model): JsonOf<typeof modelInfo> {
  const { modelId, providerId, displayName, contextLength, outputLimit, inputModalities, outputModalities, pricing } =
    model
  const cost = pricing && {
    input: fromCost(pricing.inputNanos),
    output: fromCost(pricing.outputNanos),
    cache: { read: fromCost(pricing.cacheReadNanos), write: fromCost(pricing.cacheWriteNanos) },
  }
  return {
    id: modelId,
    providerID: providerId,
    name: displayName,
    api: { id: modelId, type: 'native', settings: {} },
    capabilities: { tools: true, input: inputModalities, output: outputModalities },
    request: NOTHING,
    variants: [],
    time: { released: 0 },
    cost: cost === undefined ? [] : [cost],
    status: 'active',
    enabled: true,
    limit: { context: Number(contextLength ?? 0), output: Number(outputLimit ?? 0) },
  }
}

export function fromProvider(provider: Provider | undefined): JsonOf<typeof providerInfo> {
  if (provider === undefined) throw new Error('The inference service returned no provider')
  const { providerId } = provider
  return { id: providerId, name: providerId, api: { type: 'native', settings: {} }, request: NOTHING }
}

import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { ProviderEntry } from '../domain/model-list.ts'

/** Lists the configured providers and models; see inference_service.proto. */
export function listModels(dependencies: {
  readonly modelList: readonly ProviderEntry[]
  readonly defaultModel: string
}): ServiceImpl<typeof InferenceService>['listModels'] {
  const { modelList, defaultModel } = dependencies
  const models = modelList.flatMap(({ id: providerId, models }) =>
    models.map(({ id: modelId, displayName, contextLength, pricing }) => ({
      name: `${providerId}/${modelId}`,
      providerId,
      modelId,
      displayName,
      contextLength: contextLength === undefined ? undefined : BigInt(contextLength),
      ...(pricing === undefined ? {} : { pricing: { ...pricing } }),
    })),
  )
  const providers = modelList.map(providerToProto)
  return (_, context) => {
    principalOf(context)
    return { models, providers, defaultModel }
  }
}

export function providerToProto({ id: providerId, protocol }: ProviderEntry) {
  return { providerId, protocol }
}

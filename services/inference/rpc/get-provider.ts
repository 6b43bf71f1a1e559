import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { ProviderEntry } from '../domain/model-list.ts'
import { providerToProto } from './list-models.ts'

/** Gets a configured provider; see inference_service.proto. */
export function getProvider(dependencies: {
  readonly modelList: readonly ProviderEntry[]
}): ServiceImpl<typeof InferenceService>['getProvider'] {
  const { modelList } = dependencies
  return ({ providerId }, context) => {
    principalOf(context)
    const provider = modelList.find(({ id }) => id === providerId)
    if (provider === undefined) throw new Rejection('PROVIDER_NOT_FOUND', { provider_id: providerId })
    return { provider: providerToProto(provider) }
  }
}

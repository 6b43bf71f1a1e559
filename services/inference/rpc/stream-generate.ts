import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { forStoreWithin } from '#shared/stores/store-outage.ts'
import { type ProviderEntry, resolveModel } from '../domain/catalogue.ts'
import { metered } from '../domain/metered.ts'
import type { KeyChecker, Ledger, ModelProvider } from '../ports.ts'
import { startDeadline } from './deadline.ts'
import { parseGeneration } from './parse-generation.ts'
import { toResponse } from './to-response.ts'

/** What a generation needs. */
export interface GenerateDependencies {
  readonly catalogue: readonly ProviderEntry[]
  readonly defaultModel: string
  readonly providers: ReadonlyMap<string, ModelProvider>
  readonly ledger: Ledger
  readonly keys: KeyChecker
  /** Longest time that one generation may take. */
  readonly timeoutMs: number
}

/** Generates an answer as a stream; see inference_service.proto. */
export function streamGenerate(
  dependencies: GenerateDependencies,
): ServiceImpl<typeof InferenceService>['streamGenerate'] {
  const { catalogue, defaultModel, providers, ledger, keys, timeoutMs } = dependencies
  return async function* (request, context) {
    const principal = principalOf(context)
    const parsed = parseGeneration(request)
    const name = request.model === '' ? defaultModel : request.model
    const model = resolveModel(catalogue, name)
    const provider = model === undefined ? undefined : providers.get(model.providerId)
    if (model === undefined || provider === undefined)
      throw new Rejection('MODEL_NOT_FOUND', { model: name.slice(0, 256) })
    const { providerId, modelId, pricing } = model
    await keys.check(principal, context.signal)
    const { workspaceId: workspace, apiKeyId } = principal
    const { requestId, sessionId } = parsed
    await ledger.begin({ workspace, requestId, apiKeyId, origin: request.origin, sessionId, providerId, modelId })
    const caller = context.signal
    using deadline = startDeadline(caller, timeoutMs, () => new Rejection('PROVIDER_TIMEOUT', { provider: providerId }))
    const batches = metered(provider.generate({ ...parsed, modelId }, deadline.signal), {
      pricing,
      caller,
      finish: (outcome) => forStoreWithin(LEDGER_PATIENCE_MS, () => ledger.finish(workspace, requestId, outcome)),
      describe: (error) => (error instanceof Rejection ? error.reason : 'INTERNAL'),
    })
    for await (const batch of batches) yield toResponse(batch, providerId, `${providerId}/${modelId}`)
  }
}

/** What was generated is written down also when the ledger is away for a while. */
const LEDGER_PATIENCE_MS = 60_000

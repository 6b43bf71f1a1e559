import type { HandlerContext } from '@connectrpc/connect'
import type { GenerationRequest as GenerationMessage } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { forStoreWithin } from '#shared/stores/store-outage.ts'
import { type MeteredEvent, metered } from '../domain/metered.ts'
import { type ProviderEntry, resolveModel } from '../domain/model-list.ts'
import type { KeyChecker } from '../ports/key-checker.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { ModelProvider } from '../ports/provider.ts'
import { check } from './check.ts'
import type { Answering } from './convert.ts'
import { startDeadline } from './deadline.ts'
import { parseGeneration } from './parse-generation.ts'

/** What a generation needs. */
export interface GenerateDependencies {
  readonly modelList: readonly ProviderEntry[]
  readonly defaultModel: string
  readonly providers: ReadonlyMap<string, ModelProvider>
  readonly ledger: Ledger
  readonly keys: KeyChecker
  /** Longest time that one generation may take. */
  readonly timeoutMs: number
}

/** Generates an answer, batch by batch, and tells who gives it. */
export async function* answer<T>(
  dependencies: GenerateDependencies,
  request: GenerationMessage | undefined,
  context: HandlerContext,
  present: (batch: readonly MeteredEvent[], by: Answering) => T,
): AsyncGenerator<T> {
  const { modelList, defaultModel, providers, ledger, keys, timeoutMs } = dependencies
  const principal = principalOf(context)
  check(request !== undefined, 'generation', 'is missing')
  const parsed = parseGeneration(request)
  const name = request.model === '' ? defaultModel : request.model
  const route = resolveModel(modelList, name)
  const provider = route === undefined ? undefined : providers.get(route.providerId)
  if (route === undefined || provider === undefined)
    throw new Rejection('MODEL_NOT_FOUND', { model: name.slice(0, 256) })
  const { providerId, modelId, pricing } = route
  await keys.check(principal, context.signal)
  const { workspaceId: workspace, apiKeyId } = principal
  const { requestId, sessionId } = parsed
  await ledger.begin({ workspace, requestId, apiKeyId, origin: request.origin, sessionId, providerId, modelId })
  const caller = context.signal
  using deadline = startDeadline(caller, timeoutMs, () => new Rejection('PROVIDER_TIMEOUT', { provider: providerId }))
  const batches = metered(provider.stream({ ...parsed, modelId }, deadline.signal), {
    pricing,
    caller,
    finish: (outcome) => forStoreWithin(LEDGER_PATIENCE_MS, () => ledger.finish(workspace, requestId, outcome)),
    describe: (error) => (error instanceof Rejection ? error.reason : 'INTERNAL'),
  })
  const by = { providerId, model: `${providerId}/${modelId}` }
  for await (const batch of batches) yield present(batch, by)
}

/** What was generated is written down also when the ledger is away for a while. */
const LEDGER_PATIENCE_MS = 60_000

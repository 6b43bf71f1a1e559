import { Rejection } from '#shared/rejection.ts'
import { withCacheMarker } from '../domain/automatic-cache.ts'
import type { GenerationEvent } from '../domain/generation.ts'
import { Meter, type MeteredEvent } from '../domain/meter.ts'
import { resolveModel as findModel } from '../domain/model-list.ts'
import type { LedgerClosing } from '../ports/ledger.ts'
import { applyPreset } from './apply-preset.ts'
import { startDeadline } from './deadline.ts'
import type { Generation, GenerationDependencies } from './generation.ts'
import { requireTools } from './require-tools.ts'

type Step = (generation: Generation, dependencies: GenerationDependencies) => void | Promise<void>

/** What becomes of a request for a generation, in order. A step that throws ends it; before `openRow` nothing is spent. */
const STEPS: readonly Step[] = [applyPreset, requireTools, resolveModel, checkKey, openRow, attempt, meter, close]

/** Takes a generation through the steps; then its answer can be pulled, and has to be. */
export async function runSteps(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  for (const step of STEPS) await step(generation, dependencies)
}

function resolveModel(generation: Generation, { modelList, defaultModel, providers }: GenerationDependencies): void {
  const name = generation.input.model ?? defaultModel
  const [endpoint] = findModel(modelList, name)?.endpoints ?? []
  const provider = endpoint && providers.get(endpoint.providerId)
  if (endpoint === undefined || provider === undefined) {
    throw new Rejection('MODEL_NOT_FOUND', { model: name.slice(0, 256) })
  }
  generation.endpoint = endpoint
  generation.provider = provider
}

/** Within the request that was authenticated with the key, that was enough; a run that spends later asks again. */
async function checkKey({ input }: Generation, { keys }: GenerationDependencies): Promise<void> {
  if (!input.authenticated) await keys.check(input.principal, input.caller)
}

async function openRow({ input, endpoint }: Generation, { ledger }: GenerationDependencies): Promise<void> {
  const { principal, request } = input
  const { providerId, modelId } = endpoint
  const { requestId, sessionId = '', origin } = request
  const { workspaceId: workspace, apiKeyId } = principal
  await ledger.open({ workspace, requestId, apiKeyId, origin, sessionId, providerId, modelId })
}

function attempt(generation: Generation, { timeoutMs }: GenerationDependencies): void {
  const { input, endpoint, provider } = generation
  const { providerId: id, modelId } = endpoint
  const deadline = startDeadline(input.caller, timeoutMs, () => new Rejection('PROVIDER_TIMEOUT', { provider: id }))
  const { messages, automaticCache: cache } = input.request
  const marked = cache === undefined ? messages : withCacheMarker(messages, cache)
  const request = { ...input.request, modelId, messages: marked }
  generation.deadline = deadline
  generation.batches =
    input.form === 'whole'
      ? one(() => provider.generate(request, deadline.signal))
      : provider.stream(request, deadline.signal)
}

function meter(generation: Generation): void {
  generation.meter = new Meter(generation.endpoint.pricing)
}

function close(generation: Generation, { closer, logger }: GenerationDependencies): void {
  const { endpoint, meter } = generation
  generation.answer = closing(generation, (closed) => {
    const { providerId: provider, modelId: model } = endpoint
    if (meter.implausible)
      logger.warn({ provider, model }, 'A provider reported a usage that cannot be true: it counts as none')
    closer.close(closed)
  })
}

async function* one(generate: () => Promise<readonly GenerationEvent[]>): AsyncGenerator<readonly GenerationEvent[]> {
  yield await generate()
}

/**
 * Passes batches on through the meter, and closes the row exactly once: as completed before the last batch is handed over, as
 * failed when the provider fails, as aborted when the caller goes away, with the usage known by then.
 */
async function* closing(
  { input, batches, meter, deadline }: Generation,
  closeRow: (closing: LedgerClosing) => void,
): AsyncGenerator<readonly MeteredEvent[]> {
  const { workspaceId: workspace } = input.principal
  const { requestId } = input.request
  let closed = false
  const end = (status: LedgerClosing['status'], error = ''): void => {
    if (closed) return
    closed = true
    closeRow({ workspace, requestId, status, usage: meter.usage, costNanos: meter.costNanos, error })
  }
  using _ = deadline
  try {
    for await (const batch of batches) {
      const events = meter.take(batch)
      if (meter.finished) end('completed')
      if (events.length > 0) yield events
      if (meter.finished) return
    }
    throw new Error('The provider adapter ended without a last event')
  } catch (failure) {
    if (!input.caller.aborted) end('failed', failure instanceof Rejection ? failure.reason : 'INTERNAL')
    throw failure
  } finally {
    end('aborted')
  }
}

import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { LedgerClosing } from '../ports/ledger.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/** Closes the row of a request when its answer ends, in whatever way. */
export function closeRow(generation: Generation, dependencies: GenerationDependencies): void {
  generation.answer = closing(generation, dependencies)
}

/**
 * Passes batches on through the meter, and closes the row exactly once: as completed before the last batch is passed
 * on, as failed when the provider fails, or as aborted when the caller goes away, with the usage known by then. The end
 * is passed on once readers of the ledger wait for the close.
 */
async function* closing(
  generation: Generation,
  { closer, keeper, ledger, clock, logger }: GenerationDependencies,
): AsyncGenerator<readonly GenerationEvent[]> {
  const { input, batches, meter, deadline } = generation
  const { workspaceId } = input.principal
  const { requestId } = input.request
  const startedAt = clock.monotonic()
  // If the caller was gone before, the provider is not called.
  const wasCalled = !input.caller.aborted
  let firstPartMs: number | undefined
  let closed: Promise<void> | undefined
  const end = (status: LedgerClosing['status'], error?: string): Promise<void> => {
    if (closed !== undefined) return closed
    closed = Promise.resolve()
    try {
      meter.breakOff(wasCalled && status === Status.ABORTED)
      if (meter.implausible) noteImplausible(generation, logger)
      closed = closer.close(closingOf(generation, { status, error, firstPartMs }))
    } catch (err) {
      logger.error({ err }, 'The usage of a request is unknown: its row is settled as lost')
      ledger.abandon(workspaceId, requestId, wasCalled)
    }
    return closed
  }
  using _ = deadline
  using _row = keeper.keep({ workspaceId, requestId, meter })
  try {
    for await (const batch of batches) {
      const events = meter.take(batch)
      if (firstPartMs === undefined && meter.answers) firstPartMs = Math.round(clock.monotonic() - startedAt)
      if (meter.finished) await end(Status.COMPLETED)
      if (events.length > 0) yield events
      if (meter.finished) return
    }
    throw new Error('The provider adapter ended without a last event')
  } catch (failure) {
    if (!input.caller.aborted) await end(Status.FAILED, failure instanceof Rejection ? failure.reason : 'INTERNAL')
    throw withModel(failure, generation)
  } finally {
    void end(Status.ABORTED)
  }
}

/** Adds to a provider's failure the model that was called, and how many endpoints it has if there are others. */
function withModel(failure: unknown, { endpoint: { providerId, modelId }, endpoints }: Generation): unknown {
  if (!(failure instanceof Rejection) || !failure.reason.startsWith('PROVIDER_')) return failure
  const model = `${providerId}/${modelId}`.slice(0, 256)
  const others: Record<string, string> = endpoints.length > 1 ? { endpoints: String(endpoints.length) } : {}
  const metadata = { ...failure.metadata, model, ...others }
  return new Rejection(failure.reason, metadata, { cause: failure })
}

function closingOf(
  generation: Generation,
  how: Pick<LedgerClosing, 'status' | 'error' | 'firstPartMs'>,
): LedgerClosing {
  const { input, meter, warnings } = generation
  const { workspaceId, apiKeyId } = input.principal
  const { usage, costNanos, costKnown, end } = meter
  const leftOut = [...warnings, ...meter.warnings].map(({ field }) => generation.ownField(field))
  return {
    workspaceId,
    requestId: input.request.requestId,
    apiKeyId,
    ...how,
    usage,
    costNanos,
    costKnown,
    finishReason: end?.reason,
    rawReason: end?.rawReason || undefined,
    serviceTier: end?.serviceTier || undefined,
    leftOut: [...new Set(leftOut)],
  }
}

function noteImplausible({ endpoint }: Generation, logger: GenerationDependencies['logger']): void {
  const { providerId: provider, modelId: model } = endpoint
  logger.warn({ provider, model }, 'A provider reported an implausible usage, which is ignored')
}

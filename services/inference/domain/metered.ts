import { costOf, outputCostOf, type Pricing } from './cost.ts'
import type { GenerationEvent, Usage } from './generation.ts'

/** How a generation ended, for the ledger. */
export interface Outcome {
  readonly status: 'completed' | 'aborted' | 'failed'
  readonly usage: Usage | undefined
  readonly costNanos: bigint
  readonly error: string
}

/** An event as the caller sees it: usage and cost come once, at the end. */
export type MeteredEvent =
  | Exclude<GenerationEvent, { readonly type: 'usage' | 'finished' }>
  | (Extract<GenerationEvent, { readonly type: 'finished' }> &
      Pick<Outcome, 'usage' | 'costNanos'> & {
        readonly outputCostNanos: bigint
      })

/** What a generation is measured with. */
export interface Meter {
  readonly pricing: Pricing | undefined
  /** Aborts when the caller is gone. */
  readonly caller: AbortSignal
  /** Writes the outcome down; called exactly once. */
  finish(outcome: Outcome): Promise<void>
  /** Names a failure, in a few words that are safe to keep. */
  describe(error: unknown): string
}

/**
 * Passes batches on and writes down how it ended, exactly once: completed before the last batch is handed over; failed when the
 * provider fails; aborted when the caller goes away, with the usage known by then.
 */
export async function* metered(
  batches: AsyncIterable<readonly GenerationEvent[]>,
  meter: Meter,
): AsyncGenerator<readonly MeteredEvent[]> {
  let usage: Usage | undefined
  let status: Outcome['status'] | 'written' = 'aborted'
  let error = ''
  try {
    for await (const batch of batches) {
      let plain = true
      let finished: Extract<GenerationEvent, { readonly type: 'finished' }> | undefined
      for (const event of batch) {
        if (event.type === 'usage') {
          usage = event.usage
          plain = false
        } else if (event.type === 'finished') {
          finished = event
          plain = false
        }
      }
      const events: MeteredEvent[] = plain ? (batch as MeteredEvent[]) : batch.filter(isPassedOn)
      if (finished !== undefined) {
        const costNanos = usage === undefined ? 0n : costOf(usage, meter.pricing)
        status = 'written'
        await meter.finish({ status: 'completed', usage, costNanos, error: '' })
        const outputCostNanos = usage === undefined ? 0n : outputCostOf(usage, meter.pricing)
        events.push({ ...finished, usage, costNanos, outputCostNanos })
      }
      if (events.length > 0) yield events
      if (finished !== undefined) return
    }
    throw new Error('The provider adapter ended without a last event')
  } catch (failure) {
    if (status !== 'written' && !meter.caller.aborted) {
      status = 'failed'
      error = meter.describe(failure)
    }
    throw failure
  } finally {
    if (status !== 'written') {
      const costNanos = usage === undefined ? 0n : costOf(usage, meter.pricing)
      await meter.finish({ status, usage, costNanos, error })
    }
  }
}

function isPassedOn(event: GenerationEvent): event is Exclude<MeteredEvent, { readonly type: 'finished' }> {
  return event.type !== 'usage' && event.type !== 'finished'
}

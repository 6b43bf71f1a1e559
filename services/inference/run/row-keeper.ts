import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Meter } from '../domain/meter.ts'
import type { Ledger } from '../ports/ledger.ts'

/** Twice within the lease of a process, and often enough that the holds of a dead one are released within 15 s. */
const EVERY_MS = 3_000

/** A running request. */
export interface KeptRow {
  readonly workspaceId: string
  readonly requestId: string
  readonly meter: Pick<Meter, 'outputTokens'>
}

/**
 * Keeps the rows of this process: every three seconds it renews the lease of this process, records the progress of its
 * requests, and settles what dead processes left. Many processes may do so at the same time.
 */
export class RowKeeper implements Disposable {
  readonly #ledger: Ledger
  readonly #logger: Logger
  readonly #timer: NodeJS.Timeout
  /** The rows, each with the progress that was recorded last. */
  readonly #rows = new Set<{ readonly row: KeptRow; noted: bigint }>()
  #busy = false

  constructor(ledger: Ledger, logger: Logger) {
    this.#ledger = ledger
    this.#logger = logger
    this.#timer = setInterval(() => void this.#tick(), EVERY_MS)
    this.#timer.unref()
  }

  /** Keeps a row until the returned object is disposed. */
  keep(row: KeptRow): Disposable {
    const entry = { row, noted: 0n }
    this.#rows.add(entry)
    return { [Symbol.dispose]: () => void this.#rows.delete(entry) }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  async #tick(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      // First, so that nobody takes this process for dead while it records progress.
      await this.#ledger.settle()
      await this.#note()
    } catch (err) {
      // The store watch already logs an outage.
      if (!isStoreUnavailable(err))
        this.#logger.warn({ err }, 'Rows of the ledger could not be kept; another attempt follows in three seconds')
    } finally {
      this.#busy = false
    }
  }

  async #note(): Promise<void> {
    const progress = []
    for (const entry of this.#rows) {
      const { workspaceId, requestId, meter } = entry.row
      const { outputTokens } = meter
      if (outputTokens === entry.noted) continue
      entry.noted = outputTokens
      progress.push({ workspaceId, requestId, outputTokens })
    }
    if (progress.length > 0) await this.#ledger.note(progress)
  }
}

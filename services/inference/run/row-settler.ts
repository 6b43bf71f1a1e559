import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Ledger } from '../ports/ledger.ts'
import { PATIENCE_MS } from './row-closer.ts'

const EVERY_MS = 60_000

/** How long a row may be open, in milliseconds, where a generation may take so long: its end may be written down late. */
export function longestOpen(generationMs: number): number {
  return generationMs + 2 * PATIENCE_MS
}

/** Settles, once a minute, the rows of processes that are gone. Many processes may do so at the same time. */
export class RowSettler implements Disposable {
  readonly #timer: NodeJS.Timeout

  constructor(ledger: Ledger, options: { readonly clock: Clock; readonly logger: Logger; readonly longestMs: number }) {
    const { clock, logger, longestMs } = options
    const settle = (): void => {
      ledger.settle(clock.now() - longestMs).catch((err: unknown) => {
        logger.warn({ err }, 'Rows of the ledger could not be settled; another try follows in a minute')
      })
    }
    this.#timer = setInterval(settle, EVERY_MS)
    this.#timer.unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

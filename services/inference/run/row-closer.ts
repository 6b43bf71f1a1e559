import { forStoreWithin, isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Ledger, LedgerClosing } from '../ports/ledger.ts'

/** How long rows wait for others that are closed with them. */
const GROUP_MS = 10
/** However long the ledger is away, until disposal: as long as it is, nothing new is opened that would have to be closed. */
const PATIENCE_MS = Number.POSITIVE_INFINITY
const STOP_MS = 5_000
/** A reader of the ledger waits so long for closes that are under way. */
const READ_MS = 4_000

/**
 * Closes rows of the ledger while nobody waits for it, those of 10 ms in one write unless another row is opened meanwhile. While the ledger is away it tries again, and one
 * that cannot be written keeps no other one open, and is settled as of a process that is gone. Disposal closes what is left, and waits for it at most 5 s;
 * what is not written by then is left for the next start.
 */
export class RowCloser implements AsyncDisposable {
  readonly #ledger: Ledger
  readonly #logger: Logger
  readonly #writes = new Set<Promise<void>>()
  readonly #stopped = new AbortController()
  #waiting: LedgerClosing[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(ledger: Ledger, logger: Logger) {
    this.#ledger = ledger
    this.#logger = logger
  }

  /** Resolves as soon as whoever reads the ledger waits for the close, in any process. */
  async close(closing: LedgerClosing): Promise<void> {
    this.#waiting.push(closing)
    this.#timer ??= detached(() => setTimeout(() => this.flush(), GROUP_MS))
    try {
      await this.#ledger.announce([closing])
    } catch (err) {
      // The store watch already logs an outage.
      if (isStoreUnavailable(err)) return
      this.#logger.warn({ err }, 'A close could not be announced: whoever reads the ledger at once may miss it')
    }
  }

  /** Waits for the closes that are under way in a workspace, in any process, for at most some seconds. */
  async settled(workspace: string): Promise<void> {
    this.flush()
    await this.#within(READ_MS)
    await this.#ledger.awaitAnnounced(workspace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.flush()
    await this.#within(STOP_MS)
    this.#stopped.abort()
  }

  async #within(ms: number): Promise<void> {
    if (this.#writes.size === 0) return
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms).unref()
    await Promise.race([Promise.all(this.#writes), late])
    clearTimeout(timer)
  }

  /**
   * Closes now what waits. Whoever opens a row has that done first: then SQLite closes them in the same commit, and what they held is free before
   * the row is admitted.
   */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const closings = this.#waiting
    this.#waiting = []
    if (closings.length === 0) return
    // Rows of many requests are closed together: that belongs to none of them.
    const write = detached(() => this.#write(closings)).finally(() => this.#writes.delete(write))
    this.#writes.add(write)
  }

  /** Rows that cannot be written together are written each by itself. */
  async #write(closings: readonly LedgerClosing[]): Promise<void> {
    try {
      await forStoreWithin(PATIENCE_MS, () => this.#ledger.close(closings), this.#stopped.signal)
    } catch (err) {
      if (closings.length > 1 && !isStoreUnavailable(err)) {
        await Promise.all(closings.map((closing) => this.#write([closing])))
        return
      }
      this.#logger.error(
        { err, rows: closings.length },
        'Rows of the ledger cannot be closed: they are settled as lost',
      )
      for (const { workspace, requestId } of closings) this.#ledger.abandon(workspace, requestId, true)
    }
  }
}

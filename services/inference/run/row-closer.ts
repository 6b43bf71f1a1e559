import { forStoreWithin, isStoreUnavailable, storeUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Ledger, LedgerClosing } from '../ports/ledger.ts'

/** How long rows wait for others, to be closed together. */
const GROUP_MS = 10
/**
 * However long the ledger is unavailable, until disposal: meanwhile no new row is opened that would have to be closed.
 */
const PATIENCE_MS = Number.POSITIVE_INFINITY
const STOP_MS = 5_000
/** How long a reader of the ledger waits for closings in progress. */
const READ_MS = 4_000

/** Rows that are being closed together. */
interface Write {
  readonly closings: readonly LedgerClosing[]
  readonly done: Promise<void>
}

/**
 * Closes rows of the ledger while nobody waits, those of 10 ms in one write, unless another row is opened meanwhile.
 * While the ledger is unavailable, it tries again. A row that cannot be written does not keep others open, and is
 * settled like one of a process that is gone. Disposal closes what is left, and waits at most 5 s; the next start
 * settles the rest.
 */
export class RowCloser implements AsyncDisposable {
  readonly #ledger: Ledger
  readonly #logger: Logger
  readonly #writes = new Set<Write>()
  readonly #stop = new AbortController()
  #waiting: LedgerClosing[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(ledger: Ledger, logger: Logger) {
    this.#ledger = ledger
    this.#logger = logger
  }

  /** Resolves as soon as readers of the ledger wait for the close, in any process. */
  async close(closing: LedgerClosing): Promise<void> {
    this.#waiting.push(closing)
    this.#timer ??= detached(() => setTimeout(() => this.flush(), GROUP_MS))
    try {
      await this.#ledger.announce([closing])
    } catch (err) {
      // The store watch already logs an outage.
      if (isStoreUnavailable(err)) return
      this.#logger.warn(
        { err },
        'A close could not be announced: somebody who reads the ledger immediately may miss it',
      )
    }
  }

  /**
   * Waits for closings in progress in a workspace, in any process, for at most a few seconds. Rejects with
   * STORE_UNAVAILABLE if rows of this process that concern the reader are still not closed then: they would be missing.
   */
  async settled(workspaceId: string, concerns: (closing: LedgerClosing) => boolean = () => false): Promise<void> {
    this.flush()
    const missing = (await this.#within(READ_MS)).flatMap(({ closings }) => closings)
    if (missing.some((closing) => closing.workspaceId === workspaceId && concerns(closing)))
      throw storeUnavailable('rows that have ended cannot be closed')
    await this.#ledger.awaitAnnounced(workspaceId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.flush()
    await this.#within(STOP_MS)
    this.#stop.abort()
  }

  /** Waits for the writes in progress, and returns those that take longer. */
  async #within(ms: number): Promise<readonly Write[]> {
    const writes = new Set(this.#writes)
    if (writes.size === 0) return []
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms).unref()
    const all = Array.from(writes, (write) => write.done.finally(() => writes.delete(write)))
    await Promise.race([Promise.all(all), late])
    clearTimeout(timer)
    return [...writes]
  }

  /**
   * Closes the waiting rows now. Called before a row is opened, so that SQLite closes them in the same commit, and
   * their holds are released before the row is admitted.
   */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const closings = this.#waiting
    this.#waiting = []
    if (closings.length === 0) return
    // Rows of many requests are closed together, which belongs to none of them.
    const done = detached(() => this.#write(closings)).finally(() => this.#writes.delete(write))
    const write = { closings, done }
    this.#writes.add(write)
  }

  /** Rows that cannot be written together are written one by one. */
  async #write(closings: readonly LedgerClosing[]): Promise<void> {
    try {
      await forStoreWithin(PATIENCE_MS, () => this.#ledger.close(closings), this.#stop.signal)
    } catch (err) {
      if (closings.length > 1 && !isStoreUnavailable(err)) {
        await Promise.all(closings.map((closing) => this.#write([closing])))
        return
      }
      this.#logger.error(
        { err, rows: closings.length },
        'Rows of the ledger cannot be closed: they are settled as lost',
      )
      for (const { workspaceId, requestId } of closings) this.#ledger.abandon(workspaceId, requestId, true)
    }
  }
}

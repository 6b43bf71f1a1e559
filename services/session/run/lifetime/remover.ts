import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { Removal } from '#services/session/ports/session-removal.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Pause } from '../pause.ts'
import { endLeftTools } from './end-left-tools.ts'

export interface RemoverOptions {
  readonly store: Pick<SessionStore, 'removeBelow' | 'takeRemoval' | 'continueRemoval' | 'endRemoval'>
  readonly blobs: Pick<BlobStore, 'sweep'>
  readonly catalog: Pick<Catalog, 'endTools'>
  readonly logger: Logger
  readonly pause: Pause
  /** Milliseconds between two looks for what others have left. */
  readonly pollMs?: number | undefined
}

const POLL_MS = 10_000
/** A removal that nobody has got on with for so long is taken up by another process. */
const TAKEN_MS = 30_000
/** So long whoever removes a session waits for those below it, in milliseconds. */
const BELOW_MS = 1_000
/** Between two batches everybody else has so long, in milliseconds. */
const REST_MS = 5

/**
 * Deletes what removed and abandoned sessions have left, and blobs that nothing uses any more, little by little: when it is woken, and what a
 * restart or another process has left, too. Disposal waits for the batch that is under way; the rest is left to the next.
 */
export class Remover implements AsyncDisposable {
  readonly #options: RemoverOptions
  readonly #closing = new AbortController()
  readonly #poll: NodeJS.Timeout
  #running: Promise<void> | undefined
  #again = false

  constructor(options: RemoverOptions) {
    this.#options = options
    this.#poll = setInterval(() => this.wake(), options.pollMs ?? POLL_MS)
    this.#poll.unref()
    this.wake()
  }

  /** See `endLeftTools`. */
  endTools(removal: Removal): Promise<boolean> {
    return endLeftTools(this.#options, removal, this.#closing.signal)
  }

  /** Removes the sessions below a removed one, as far as that takes no long time; what is left goes in the background. Never throws. */
  async removeBelow(removal: Removal): Promise<readonly Removal[]> {
    const { store, pause } = this.#options
    const until = systemClock.monotonic() + BELOW_MS
    const removed: Removal[] = []
    try {
      while (systemClock.monotonic() < until) {
        const some = await store.removeBelow(removal)
        if (some.length === 0) break
        removed.push(...some)
        await pause(REST_MS, this.#closing.signal)
      }
    } catch {
      // The removal is written, and goes on as soon as it can.
    }
    return removed
  }

  /** There is something to delete. */
  wake(): void {
    if (this.#closing.signal.aborted) return
    this.#again = true
    // Who removed a session has nothing to do with how long this takes.
    this.#running ??= detached(() => this.#run()).finally(() => {
      this.#running = undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#poll)
    await this.#running
  }

  async #run(): Promise<void> {
    const { store, logger } = this.#options
    try {
      while (this.#again && !this.#closing.signal.aborted) {
        this.#again = false
        const removal = await store.takeRemoval(TAKEN_MS)
        if (removal === undefined) await this.#sweep()
        else {
          this.#again = true
          await this.#finish(removal)
        }
      }
    } catch (error) {
      // The next look goes on; that a store is away is reported by its watch.
      if (!this.#closing.signal.aborted && !isStoreUnavailable(error)) {
        logger.error({ err: error }, 'What a removed session has left could not be deleted')
      }
    }
  }

  async #sweep(): Promise<void> {
    const { blobs, pause } = this.#options
    while (await blobs.sweep()) await pause(REST_MS, this.#closing.signal)
  }

  /** What can't be ended now is taken up again when its time is over. */
  async #finish(removal: Removal): Promise<void> {
    const { store, pause } = this.#options
    const { signal } = this.#closing
    const ended = this.endTools(removal)
    while ((await store.removeBelow(removal)).length > 0) await pause(REST_MS, signal)
    while (await store.continueRemoval(removal, TAKEN_MS)) await pause(REST_MS, signal)
    if (await ended) await store.endRemoval(removal)
  }
}

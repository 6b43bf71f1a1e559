import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { Removal } from '#services/session/ports/session-removal.ts'
import type { StagedSession } from '#services/session/ports/session-staging.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Pause } from '../pause.ts'

export interface RemoverOptions {
  readonly store: Pick<SessionStore, 'removeBelow' | 'takeRemoval' | 'continueRemoval' | 'endRemoval'>
  readonly blobs: Pick<BlobStore, 'sweep'>
  readonly catalog: Pick<Catalog, 'endTools'>
  readonly logger: Logger
  readonly pause: Pause
  /** Milliseconds between two checks for removals that other processes have left. */
  readonly pollMs?: number | undefined
}

const POLL_MS = 10_000
/** A removal without progress for this long is acquired by another process. */
const TAKEN_MS = 30_000
/** How long the removal of a session waits for the sessions below it, in milliseconds. */
const BELOW_MS = 1_000
/** The pause between two batches, in milliseconds. */
const REST_MS = 5

/**
 * Deletes the records of removed and abandoned sessions, and unused blobs, in batches: when it is woken, and at
 * intervals for what a restart or another process has left. Disposal waits for the current batch; the rest is left to
 * the next process.
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

  /** Removes the sessions below a removed one for a short time; the rest is removed in the background. Never throws. */
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
      // The removal is recorded, and continues as soon as possible.
    }
    return removed
  }

  /** Wakes the remover: there is something to delete. */
  wake(): void {
    if (this.#closing.signal.aborted) return
    this.#again = true
    // This does not belong to the request that removed the session.
    this.#running ??= detached(() => this.#run()).finally(() => {
      this.#running = undefined
      // Woken after the last look.
      if (this.#again) this.wake()
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
      this.#again = false
      if (!this.#closing.signal.aborted && !isStoreUnavailable(error)) {
        logger.error({ err: error }, 'What is left of a removed session could not be deleted')
      }
    }
  }

  async #sweep(): Promise<void> {
    const { blobs, pause } = this.#options
    while (await blobs.sweep()) await pause(REST_MS, this.#closing.signal)
  }

  /** If the tools can't be ended now, the removal is acquired again when its time is over. */
  async #finish(removal: Removal): Promise<void> {
    const { store, pause } = this.#options
    const { signal } = this.#closing
    const ended = this.endTools(removal)
    while ((await store.removeBelow(removal)).length > 0) await pause(REST_MS, signal)
    while (await store.continueRemoval(removal, TAKEN_MS)) await pause(REST_MS, signal)
    if (await ended) await store.endRemoval(removal)
  }
}

const PATIENCE_MS = 3_500

/**
 * Ends the tool calls that a removed session has left, whichever process started them, and waits a short time for that.
 * Returns whether none is left. Afterwards, no lease of the session can start another call.
 */
export async function endLeftTools(
  { catalog, logger }: { readonly catalog: Pick<Catalog, 'endTools'>; readonly logger: Logger },
  { sessionId, tools }: Removal,
  closing: AbortSignal,
): Promise<boolean> {
  if (tools === undefined) return true
  const signal = AbortSignal.any([closing, AbortSignal.timeout(PATIENCE_MS)])
  try {
    await catalog.endTools({ principal: tools.admitter, signal }, sessionId, tools.fence)
    return true
  } catch (error) {
    // A new session with the same id has a newer token, so everything older has ended.
    if (error instanceof Rejection && error.reason === 'TOOL_FENCED') return true
    if (!closing.aborted) {
      logger.warn({ err: error, sessionId }, 'The tool calls of a removed session could not be ended yet')
    }
    return false
  }
}

/** Writes a staged session. If that fails, the session is given up, so that nothing of it remains. */
export async function writeStaged<T>(
  { store, remover }: { readonly store: SessionStore; readonly remover: Pick<Remover, 'wake'> },
  staged: StagedSession,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const givenUp = store
      .giveUpStaged(staged)
      .catch(() => {})
      .then(() => remover.wake())
    // Nobody has to wait a second time for an unavailable store: the staged session expires by itself.
    if (!isStoreUnavailable(error)) await givenUp
    throw error
  }
}

import type { EventLog } from '#services/session/ports/event-log.ts'
import type { Clock } from '#shared/clock.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'

const EVERY_MS = 600_000

export interface EventExpiryOptions {
  readonly store: Pick<EventLog, 'expireEvents'>
  readonly clock: Clock
  readonly logger: Logger
  readonly retentionMs: number
}

/**
 * Removes events that are older than they are kept: at once, and every ten minutes. Disposal waits for what is under
 * way.
 */
export class EventExpiry implements AsyncDisposable {
  readonly #options: EventExpiryOptions
  readonly #timer: NodeJS.Timeout
  #closed = false
  #running: Promise<void> | undefined

  constructor(options: EventExpiryOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#start(), EVERY_MS)
    this.#timer.unref()
    this.#start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await this.#running
  }

  #start(): void {
    this.#running ??= detached(() => this.#run()).finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    const { store, clock, logger, retentionMs } = this.#options
    try {
      while (!this.#closed && (await store.expireEvents(clock.now() - retentionMs)) > 0);
    } catch (error) {
      // What is left expires next time; that a store is away is reported by its watch.
      if (!isStoreUnavailable(error)) logger.error({ err: error }, 'Old events could not be removed')
    }
  }
}

import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { AuditLog } from '../ports/audit-log.ts'

const DAY_MS = 86_400_000
const EVERY_MS = 3_600_000
/** Few enough in one commit that nobody waits for them. */
const AT_ONCE = 500

export interface AuditRetentionOptions {
  readonly audit: Pick<AuditLog, 'expire'>
  readonly clock: Clock
  readonly logger: Logger
  readonly keepDays: number
}

/**
 * Removes entries of the audit log that are too old, at its start and once an hour. Many processes may do so at the
 * same time.
 */
export class AuditRetention implements AsyncDisposable {
  readonly #options: AuditRetentionOptions
  readonly #timer: NodeJS.Timeout
  #expiring: Promise<void> | undefined
  #isStopped = false

  constructor(options: AuditRetentionOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#begin(), EVERY_MS).unref()
    this.#begin()
  }

  /** Stops after the commit in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopped = true
    await this.#expiring
  }

  #begin(): void {
    if (this.#expiring !== undefined) return
    const { logger } = this.#options
    this.#expiring = this.#expire()
      .catch((err: unknown) => {
        logger.warn({ err }, 'Old entries of the audit log could not be removed; another attempt follows in an hour')
      })
      .finally(() => {
        this.#expiring = undefined
      })
  }

  async #expire(): Promise<void> {
    const { audit, clock, keepDays } = this.#options
    const before = clock.now() - keepDays * DAY_MS
    while (!this.#isStopped && (await audit.expire(before, AT_ONCE)) > 0);
  }
}

import type { ExchangeRefused } from '#services/identity/domain/audit.ts'
import type { AuditLog } from '#services/identity/ports/audit-log.ts'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many refusals by one policy for one reason are written one by one per minute; the others are counted. */
const MOST_WRITTEN = 60
const WINDOW_MS = 60_000

/** A refusal, and the organization whose policy refused. */
export interface Refusal extends Omit<ExchangeRefused, 'type'> {
  readonly organizationId: string
}

interface Window {
  readonly of: Refusal
  /** On the monotonic clock. */
  readonly begun: number
  written: number
  counted: number
  timeFirst: number
  timeLast: number
}

export interface RefusalLogOptions {
  readonly audit: Pick<AuditLog, 'append'>
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Writes refused exchanges to the audit log. Nobody waits for that, so that the time of a response does not show what
 * was refused. Each policy and reason gets 60 entries a minute, and then one with a count, so that nobody can fill the
 * log from outside.
 */
export class RefusalLog implements AsyncDisposable {
  readonly #options: RefusalLogOptions
  readonly #windows = new Map<string, Window>()
  readonly #writing = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: RefusalLogOptions) {
    this.#options = options
  }

  record(refusal: Refusal): void {
    const { clock } = this.#options
    const place = `${refusal.policyId} ${refusal.reason}`
    let window = this.#windows.get(place)
    if (window !== undefined && clock.monotonic() - window.begun >= WINDOW_MS) {
      this.#end(place, window)
      window = undefined
    }
    const now = clock.now()
    if (window === undefined) {
      window = { of: refusal, begun: clock.monotonic(), written: 0, counted: 0, timeFirst: now, timeLast: now }
      this.#windows.set(place, window)
      this.#timer ??= setInterval(() => this.#sweep(), WINDOW_MS).unref()
    }
    if (window.written < MOST_WRITTEN) {
      window.written += 1
      const { organizationId, ...event } = refusal
      this.#append(organizationId, now, { type: 'exchange-refused', ...event })
    } else {
      if (window.counted === 0) window.timeFirst = now
      window.counted += 1
      window.timeLast = now
    }
  }

  /** Writes the pending counts, and waits for the writes in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    for (const [place, window] of this.#windows) this.#end(place, window)
    await Promise.all(this.#writing)
  }

  #sweep(): void {
    const now = this.#options.clock.monotonic()
    for (const [place, window] of this.#windows) if (now - window.begun >= WINDOW_MS) this.#end(place, window)
    if (this.#windows.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #end(place: string, { of, counted: count, timeFirst, timeLast }: Window): void {
    this.#windows.delete(place)
    if (count === 0) return
    const { organizationId, policyId, issuerId, target, reason } = of
    const event = { type: 'exchanges-refused', policyId, issuerId, target, reason, count, timeFirst, timeLast } as const
    this.#append(organizationId, timeLast, event)
  }

  #append(...[organizationId, time, event]: [string, number, Parameters<AuditLog['append']>[0]['event']]): void {
    const { audit, logger } = this.#options
    const writing = audit.append({ organizationId, time, event }).catch((error: unknown) => {
      logger.warn({ err: error, organizationId }, 'A refused exchange is missing from the audit log')
    })
    this.#writing.add(writing)
    void writing.then(() => this.#writing.delete(writing))
  }
}

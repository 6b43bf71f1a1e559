import { create } from '@bufbuild/protobuf'
import {
  type AuditEntry,
  AuditEntrySchema,
  type AuditEntry_ExchangeRefused as ExchangeRefused,
  AuditEntry_ExchangesRefusedSchema as ExchangesRefusedSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { AuditLog } from '#services/identity/ports/audit-log.ts'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many refusals by one policy for one reason are written one by one per minute; the others are counted. */
const MOST_WRITTEN = 60
const WINDOW_MS = 60_000

interface Window {
  readonly organizationId: string
  readonly of: ExchangeRefused
  /** On the monotonic clock. */
  readonly start: number
  written: number
  counted: number
  firstTime: number
  lastTime: number
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

  record(organizationId: string, refused: ExchangeRefused): void {
    const { clock } = this.#options
    const place = `${refused.policyId} ${refused.reason}`
    let window = this.#windows.get(place)
    if (window !== undefined && clock.monotonic() - window.start >= WINDOW_MS) {
      this.#end(place, window)
      window = undefined
    }
    const now = clock.now()
    if (window === undefined) {
      const times = { start: clock.monotonic(), firstTime: now, lastTime: now }
      window = { organizationId, of: refused, written: 0, counted: 0, ...times }
      this.#windows.set(place, window)
      this.#timer ??= setInterval(() => this.#sweep(), WINDOW_MS).unref()
    }
    if (window.written < MOST_WRITTEN) {
      window.written += 1
      this.#append(organizationId, now, { case: 'exchangeRefused', value: refused })
    } else {
      if (window.counted === 0) window.firstTime = now
      window.counted += 1
      window.lastTime = now
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
    for (const [place, window] of this.#windows) if (now - window.start >= WINDOW_MS) this.#end(place, window)
    if (this.#windows.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #end(place: string, { organizationId, of, counted: count, firstTime, lastTime }: Window): void {
    this.#windows.delete(place)
    if (count === 0) return
    const { policyId, issuerId, keyId, reason } = of
    const value = create(ExchangesRefusedSchema, { policyId, issuerId, keyId, reason, count, firstTime, lastTime })
    this.#append(organizationId, lastTime, { case: 'exchangesRefused', value })
  }

  #append(organizationId: string, time: number, event: AuditEntry['event']): void {
    const { audit, logger } = this.#options
    const entry = create(AuditEntrySchema, { organizationId, time, event })
    const writing = audit.append(entry).catch((error: unknown) => {
      logger.warn({ err: error, organizationId }, 'A refused exchange is missing from the audit log')
    })
    this.#writing.add(writing)
    void writing.then(() => this.#writing.delete(writing))
  }
}

import { Code, ConnectError } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { reasonOf } from '#shared/reasons.ts'
import { Unreached } from '#shared/rpc/retry.ts'

/** A peer, as its operator knows it. */
export interface ReportedPeer {
  readonly name: string
  readonly url: string
  /** The setting with its address. */
  readonly setting: string
}

/** Codes of calls that may not have reached anybody. */
const LOST: readonly Code[] = [Code.Unavailable, Code.Canceled, Code.DeadlineExceeded]

/** How long peers may take to start, in milliseconds: processes are started together, or one after another. */
const START_MS = 30_000

/**
 * Logs that a peer cannot be used, and which setting may be wrong: once when that begins, and once when it is over. A
 * peer that may still be starting is no error yet.
 */
export class PeerReport {
  readonly #peer: ReportedPeer
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #created: number
  #hasAnswered = false
  #trouble: string | undefined

  constructor(peer: ReportedPeer, logger: Logger, clock: Clock) {
    this.#peer = peer
    this.#logger = logger
    this.#clock = clock
    this.#created = clock.monotonic()
  }

  /** The peer answered as expected. */
  answered(): void {
    this.#hasAnswered = true
    if (this.#trouble === undefined) return
    const level = this.#trouble === 'starting' ? 'info' : 'warn'
    this.#trouble = undefined
    const { name, url } = this.#peer
    this.#logger[level]({ peer: name }, `The ${name} service responds at ${url}`)
  }

  /** A call failed. */
  failed(error: unknown): void {
    if (!(error instanceof ConnectError)) return
    const { name, url, setting } = this.#peer
    const reason = reasonOf(error)?.reason
    if (error.cause instanceof Unreached) {
      this.#report(
        this.#mayStart() ? 'starting' : 'unreached',
        `The ${name} service cannot be reached at ${url}: ${error.cause.message}; see ${setting}`,
      )
    } else if (reason === 'SECRET_REFUSED') {
      const where = `The ${name} service at ${url}`
      this.#report('secret', `${where} refuses the internal secret: its PORTICO_INTERNAL_SECRET is different`)
    } else if (error.code === Code.Unimplemented && reason === undefined) {
      this.#report(
        'mismatch',
        `The server at ${url} is not the ${name} service, or has another version; see ${setting}`,
      )
    } else if (reason !== undefined || !LOST.includes(error.code)) this.answered()
  }

  #mayStart(): boolean {
    return !this.#hasAnswered && this.#clock.monotonic() - this.#created < START_MS
  }

  #report(trouble: string, text: string): void {
    if (this.#trouble === trouble) return
    this.#trouble = trouble
    this.#logger[trouble === 'starting' ? 'info' : 'error']({ peer: this.#peer.name }, text)
  }
}

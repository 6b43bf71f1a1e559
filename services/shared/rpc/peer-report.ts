import { Code, ConnectError } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { reasonOf } from '#shared/reasons.ts'
import { Unreached } from '#shared/rpc/retry.ts'

/** A peer, as its operator knows it. */
export interface ReportedPeer {
  /** Name of the service. */
  readonly name: string
  readonly url: string
  /** The setting with its address. */
  readonly setting: string
}

/** Codes of calls that may not have reached anybody. */
const LOST: readonly Code[] = [Code.Unavailable, Code.Canceled, Code.DeadlineExceeded]

/** Logs that a peer cannot be used, and which setting may be wrong: once when that begins, and once when it is over. */
export class PeerReport {
  readonly #peer: ReportedPeer
  readonly #logger: Logger
  #trouble: string | undefined

  constructor(peer: ReportedPeer, logger: Logger) {
    this.#peer = peer
    this.#logger = logger
  }

  /** The peer answered as expected. */
  answered(): void {
    if (this.#trouble === undefined) return
    this.#trouble = undefined
    const { name, url } = this.#peer
    this.#logger.warn({ peer: name }, `The ${name} service responds at ${url}`)
  }

  /** A call failed. */
  failed(error: unknown): void {
    if (!(error instanceof ConnectError)) return
    const { name, url, setting } = this.#peer
    const reason = reasonOf(error)?.reason
    if (error.cause instanceof Unreached) {
      this.#report(
        'unreached',
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

  #report(trouble: string, text: string): void {
    if (this.#trouble === trouble) return
    this.#trouble = trouble
    this.#logger.error({ peer: this.#peer.name }, text)
  }
}

import type { Logger } from 'pino'

const QUIET_MS = 60_000

/**
 * Something that others do wrong, perhaps many times a second: it is logged once when it begins and once when it is
 * over.
 */
export class Complaint {
  readonly #logger: Logger
  readonly #what: string
  readonly #quietMs: number
  #times = 0
  #quiet: NodeJS.Timeout | undefined

  /** It is over if it has not happened for `quietMs`; default: a minute. */
  constructor(logger: Logger, what: string, quietMs = QUIET_MS) {
    this.#logger = logger
    this.#what = what
    this.#quietMs = quietMs
  }

  /** It happened. */
  happened(): void {
    this.#times += 1
    if (this.#quiet === undefined) {
      this.#logger.warn(this.#what)
      this.#quiet = setTimeout(() => this.#over(), this.#quietMs).unref()
    } else this.#quiet.refresh()
  }

  #over(): void {
    this.#logger.warn({ times: this.#times }, `No more: ${this.#what}`)
    this.#times = 0
    this.#quiet = undefined
  }
}

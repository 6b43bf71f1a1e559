import type { Clock } from '#shared/clock.ts'
import type { ServerTools } from './list-tools.ts'

/** How long somebody waits for tools that are not known yet. */
const PATIENCE_MS = 5_000
/** The list is requested once in this time, however often the server reports changes. */
const RELIST_MS = 1_000

interface Options {
  readonly clock: Clock
  /** What was known when the location was open before; it is offered until the server lists its tools. */
  readonly listed: ServerTools | undefined
  /** Lists the server's tools; undefined: it cannot now, and will at its next start or change. */
  readonly list: () => Promise<ServerTools | undefined>
  /** The tools became known, or have changed. */
  readonly onChange: () => void
}

const NOTHING: ServerTools = { tools: [], omitted: [] }

/** What was last known about the tools of a server. */
export class ToolList implements Disposable {
  readonly #options: Options
  readonly #ready = Promise.withResolvers<void>()
  #listed: ServerTools | undefined
  #requestedAt = Number.NEGATIVE_INFINITY
  #isListing = false
  #everListed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = options
    this.#listed = options.listed
    if (options.listed !== undefined) this.#ready.resolve()
  }

  get listed(): ServerTools {
    return this.#listed ?? NOTHING
  }

  /** Whether the server has listed them, now or when the location was open before. */
  get everKnown(): boolean {
    return this.#listed !== undefined
  }

  /** Whether this server has listed them. */
  get everListed(): boolean {
    return this.#everListed
  }

  /** Resolves when the tools are known, or are not waited for any more. */
  get known(): Promise<void> {
    return this.#ready.promise
  }

  /** From now on the tools are waited for, for a time. */
  startWaiting(): void {
    setTimeout(this.#ready.resolve, PATIENCE_MS).unref()
  }

  /** They are not waited for any more: the server cannot list them now. */
  giveUp(): void {
    this.#ready.resolve()
  }

  learn(listed: ServerTools): void {
    const before = this.#listed
    this.#listed = listed
    this.#everListed = true
    this.#ready.resolve()
    if (JSON.stringify(before) !== JSON.stringify(listed)) this.#options.onChange()
  }

  /** The server reports that its tools have changed: they are listed soon, once for many changes. */
  changed(): void {
    if (this.#timer !== undefined) return
    const wait = this.#requestedAt + RELIST_MS - this.#options.clock.monotonic()
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        if (this.#isListing) this.changed()
        else void this.#list()
      },
      Math.max(wait, this.#isListing ? RELIST_MS : 0),
    ).unref()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#ready.resolve()
  }

  async #list(): Promise<void> {
    this.#isListing = true
    this.#requestedAt = this.#options.clock.monotonic()
    const listed = await this.#options.list()
    this.#isListing = false
    if (listed !== undefined) this.learn(listed)
  }
}

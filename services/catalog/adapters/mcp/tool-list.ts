import type { Clock } from '#shared/clock.ts'
import type { ServerTools } from './list-tools.ts'

/** For how long somebody waits for tools that are not known yet. */
const PATIENCE_MS = 5_000
/** The list is requested once in this time, however often the server says that it has changed. */
const RELIST_MS = 1_000

interface Options {
  readonly clock: Clock
  /** What was known when the location was open before. It is offered until the server says what it has now. */
  readonly listed: ServerTools | undefined
  /** Has the server list them; undefined: it does not now. What it does not say now it says at its next start or change. */
  readonly list: () => Promise<ServerTools | undefined>
  /** The tools are known now, or are others. */
  readonly onChange: () => void
}

const NOTHING: ServerTools = { tools: [], omitted: [] }

/** What was last known of the tools of a server. */
export class ToolList implements Disposable {
  readonly #options: Options
  readonly #known = Promise.withResolvers<void>()
  #listed: ServerTools | undefined
  #requestedAt = Number.NEGATIVE_INFINITY
  #isListing = false
  #everListed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: Options) {
    this.#options = options
    this.#listed = options.listed
    if (options.listed !== undefined) this.#known.resolve()
  }

  get listed(): ServerTools {
    return this.#listed ?? NOTHING
  }

  /** Whether the server has said them, now or when the location was open before. */
  get everKnown(): boolean {
    return this.#listed !== undefined
  }

  /** Whether this server has said them. */
  get everListed(): boolean {
    return this.#everListed
  }

  /** Resolves when the tools are known, or are not waited for any more. */
  get known(): Promise<void> {
    return this.#known.promise
  }

  /** From now on the tools are waited for, for a time. */
  await(): void {
    setTimeout(this.#known.resolve, PATIENCE_MS).unref()
  }

  /** They are not waited for: the server cannot say them now. */
  giveUp(): void {
    this.#known.resolve()
  }

  learn(listed: ServerTools): void {
    const before = this.#listed
    this.#listed = listed
    this.#everListed = true
    this.#known.resolve()
    if (JSON.stringify(before) !== JSON.stringify(listed)) this.#options.onChange()
  }

  /** The server says that it has other tools: they are listed soon, once for many changes. */
  changed(): void {
    if (this.#timer !== undefined) return
    const wait = this.#requestedAt + RELIST_MS - this.#options.clock.monotonic()
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        if (this.#isListing) this.changed()
        else void this.#list()
      },
      Math.max(wait, 0),
    ).unref()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#known.resolve()
  }

  async #list(): Promise<void> {
    this.#isListing = true
    this.#requestedAt = this.#options.clock.monotonic()
    const listed = await this.#options.list()
    this.#isListing = false
    if (listed !== undefined) this.learn(listed)
  }
}

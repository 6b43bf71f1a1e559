import type { ProcessPlace, ProcessPlaces } from '#services/catalog/run/process-places.ts'
import type { HostEnd, PluginHost } from './plugin-host.ts'
import { pause } from './wait.ts'

/** Time from a failed start to the next one, doubled by each further failure. */
const FIRST_MS = 1_000
const MAX_MS = 60_000

interface Options {
  readonly places: ProcessPlaces
  /** Rejects if the system cannot start one now. */
  readonly start: () => Promise<PluginHost>
  /** The process has ended by itself. */
  readonly onEnd: (host: PluginHost, end: HostEnd) => void
}

interface Running {
  readonly host: PluginHost
  readonly place: ProcessPlace
  uses: number
  /** It ends as soon as nobody uses it. */
  retired: boolean
}

/** A use of a process: until it is disposed, nobody else gets its place. */
export interface HostUse extends Disposable {
  readonly host: PluginHost
  /** A plugin has loaded in it. */
  started(): void
}

/**
 * At most one process, which is started when it is used, and given up when somebody else needs its place. Disposal ends
 * it.
 */
export class HostSlot implements AsyncDisposable {
  readonly #options: Options
  readonly #closed = new AbortController()
  #starting: Promise<Running> | undefined
  #running: Running | undefined
  #problem: string | undefined
  /** Processes that are being ended. */
  readonly #ending = new Set<Promise<void>>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Why there is no process although somebody wants to use one; undefined: there is one, or nothing is wrong. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Returns the process, starting it if there is none, as soon as the system can. Rejects if this is disposed. */
  async use(): Promise<HostUse> {
    for (;;) {
      this.#closed.signal.throwIfAborted()
      this.#starting ??= this.#begin()
      const running = await this.#starting
      // It may have been given up meanwhile.
      if (this.#running !== running) continue
      const { host, place } = running
      const use = place.use()
      running.uses++
      const leave = (): void => {
        use[Symbol.dispose]()
        running.uses--
        this.#endRetired(running)
      }
      return { host, started: place.started, [Symbol.dispose]: leave }
    }
  }

  /** Ends the process, if it is this one, once nobody uses it: it contains something that can only be ended with it. */
  retire(host: PluginHost): void {
    if (this.#running?.host !== host) return
    this.#running.retired = true
    this.#endRetired(this.#running)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new Error('The location is closed'))
    await this.#starting?.catch(() => {})
    if (this.#running !== undefined) this.#end(this.#running)
    await Promise.all(this.#ending)
  }

  async #begin(): Promise<Running> {
    const { signal } = this.#closed
    for (let milliseconds = FIRST_MS; ; milliseconds = Math.min(2 * milliseconds, MAX_MS)) {
      let own: Running | undefined
      const place = await this.#options.places.take(signal, () => {
        // A process that is being ended gives up its place anyway.
        if (own !== undefined && own === this.#running) this.#end(own)
      })
      try {
        own = await this.#start(place)
        return own
      } catch (error) {
        this.#problem = error instanceof Error ? error.message : String(error)
        await pause(milliseconds, signal)
      }
    }
  }

  async #start(place: ProcessPlace): Promise<Running> {
    try {
      const host = await this.#options.start()
      const running = { host, place, uses: 0, retired: false }
      this.#running = running
      this.#problem = undefined
      void host.ended.then((end) => {
        if (this.#running !== running) return
        this.#end(running)
        this.#options.onEnd(host, end)
      })
      return running
    } catch (error) {
      place[Symbol.dispose]()
      throw error
    }
  }

  #endRetired(running: Running): void {
    if (running.retired && running.uses === 0 && this.#running === running) this.#end(running)
  }

  /** From here on it is not used any more. */
  #end({ host, place }: Running): void {
    this.#running = undefined
    this.#starting = undefined
    const ending = host[Symbol.asyncDispose]().finally(() => {
      place[Symbol.dispose]()
      this.#ending.delete(ending)
    })
    this.#ending.add(ending)
  }
}

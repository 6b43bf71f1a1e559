import type { JsonObject } from '#shared/json.ts'
import { type CallName, MAX_ERROR, type PluginStart } from './host/protocol.ts'
import type { PluginHost } from './plugin-host.ts'
import { readMessage, readMetadata } from './plugin-messages.ts'

interface Options {
  readonly start: PluginStart
  /** Maximum time from the start of its thread until it is ready. */
  readonly loadMs: number
  /** It loads a module from a file. */
  loaded(path: string, fingerprint: string): void
  /** Receives what it registers. Throws for an invalid registration. */
  ready(registration: unknown): void
  failed(error: string): void
}

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  readonly progress: ((metadata: JsonObject) => void) | undefined
}

export interface RunningCall {
  /** Rejects with what the plugin threw, as an Error, or with the reason why it cannot respond any more. */
  readonly answer: Promise<unknown>
  abort(): void
}

/** A run of a plugin has ended through no fault of the plugin; the message says how. */
export class RunEnded extends Error {
  override readonly name = 'RunEnded'
}

/** What a plugin's tool or hook threw. */
export class ThrownByPlugin extends Error {
  override readonly name = 'ThrownByPlugin'
}

/** A plugin in one process, from its start to its end. */
export class PluginRun {
  readonly host: PluginHost
  /** Resolves when it is ready; rejects if it ends before. */
  readonly loaded: Promise<void>
  readonly #options: Options
  readonly #number: number
  readonly #loaded = Promise.withResolvers<void>()
  readonly #calls = new Map<number, Pending>()
  #isLoaded = false
  #ids = 0
  #timer: NodeJS.Timeout | undefined

  constructor(host: PluginHost, options: Options) {
    this.host = host
    this.#options = options
    this.loaded = this.#loaded.promise
    this.loaded.catch(() => {})
    const { start, loadMs, failed } = options
    const isBusy = (): boolean => !this.#isLoaded || this.#calls.size > 0
    this.#number = host.run(start, {
      get busy() {
        return isBusy()
      },
      started: () => {
        this.#timer ??= setTimeout(() => this.#observeLate(), loadMs)
      },
      message: (text) => this.#receive(text),
      failed,
    })
  }

  /** Calls the plugin, once it is loaded. */
  call(name: CallName, input: unknown, progress?: (metadata: JsonObject) => void): RunningCall {
    const id = ++this.#ids
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#calls.set(id, { resolve, reject, progress })
    this.host.post(this.#number, { type: 'call', id, name, input })
    return {
      answer: promise.finally(() => this.#calls.delete(id)),
      abort: () => this.host.post(this.#number, { type: 'abort', id }),
    }
  }

  emit(name: string, event: unknown): void {
    if (this.#isLoaded) this.host.post(this.#number, { type: 'event', name, event })
  }

  /** Ends its thread, if the process still exists; nothing comes from it any more. */
  end(reason: Error): void {
    this.host.end(this.#number)
    clearTimeout(this.#timer)
    this.#loaded.reject(reason)
    for (const { reject } of this.#calls.values()) reject(reason)
    this.#calls.clear()
  }

  async #observeLate(): Promise<void> {
    const { loadMs, failed } = this.#options
    if ((await this.host.answers()) && !this.#isLoaded) failed(`It took longer than ${loadMs / 1_000} s to load`)
  }

  #receive(text: string): void {
    try {
      this.#take(text)
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      this.#options.failed(this.#isLoaded ? `It sent what cannot be read: ${problem}` : problem)
    }
  }

  #take(text: string): void {
    const message = readMessage(text)
    if (message.type === 'loaded') {
      this.#options.loaded(message.path, message.fingerprint)
      return
    }
    if (message.type === 'ready') {
      if (this.#isLoaded) return
      this.#options.ready(message.registration)
      clearTimeout(this.#timer)
      this.#isLoaded = true
      this.#loaded.resolve()
      return
    }
    const call = this.#calls.get(message.id)
    if (call === undefined) throw new Error('it is about no call')
    if (message.type === 'progress') {
      const metadata = readMetadata(message.metadata)
      if (metadata !== undefined) call.progress?.(metadata)
    } else if (message.type === 'result') call.resolve(message.value)
    else call.reject(new ThrownByPlugin(message.error.slice(0, MAX_ERROR)))
  }
}

import { create } from '@bufbuild/protobuf'
import {
  type PluginFailure,
  PluginFailureSchema,
  type Plugin as PluginMessage,
  PluginSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { type Registration, readRegistration } from '#services/catalog/domain/plugins/registration.ts'
import { Places } from '#shared/places.ts'
import type { CallName } from './host/protocol.ts'
import { type CallOptions, makeCall } from './make-call.ts'
import { digestOf, logFailure, type PluginContext, PluginFailed } from './plugin-context.ts'
import type { DeclaredPlugin } from './plugin-files.ts'
import type { PluginHost } from './plugin-host.ts'
import { PluginModule } from './plugin-module.ts'
import { PluginRun, RunEnded } from './plugin-run.ts'
import { acquire, waitAtMost } from './wait.ts'

const MAX_DEATHS = 3
const DEATHS_WITHIN_MS = 60_000

/** One plugin of one location: what it registered, whether it has failed, and its calls. */
export class Plugin {
  readonly declared: DeclaredPlugin
  registration: Registration | undefined
  /** Limits how many calls of its tools run at once. */
  readonly places = new Places(32)
  readonly #context: PluginContext
  readonly #closed = new AbortController()
  #failure: PluginFailure | undefined
  #settled: Promise<void> | undefined
  #ready: Promise<void> | undefined
  #run: PluginRun | undefined
  readonly #module: PluginModule
  /** When processes that it ran in ended within the last minute, by the monotonic clock. */
  #deaths: readonly number[] = []

  constructor(declared: DeclaredPlugin, context: PluginContext) {
    this.declared = declared
    this.#context = context
    this.#module = new PluginModule(declared.origin, context.packages)
    if (declared.problem !== undefined) this.#failure = create(PluginFailureSchema, { error: declared.problem })
  }

  get info(): PluginMessage {
    const { problem } = this.#context.slot()
    const error = `It has not been loaded yet${problem === undefined ? '' : `: ${problem}`}`
    const waits = this.registration === undefined ? create(PluginFailureSchema, { error }) : undefined
    return create(PluginSchema, {
      pluginId: this.registration?.id,
      source: this.#module.source,
      failure: this.#failure ?? waits,
    })
  }

  /** The files that it was loaded from. */
  get files(): readonly string[] {
    return this.#module.files
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  /** Whether it has registered, and has not failed. */
  get works(): boolean {
    return !this.failed && this.registration !== undefined
  }

  /** Whether its files or its installed package have changed since it was loaded, or since it failed. */
  async replaced(): Promise<boolean> {
    return await this.#module.isReplaced(this.failed && this.declared.problem === undefined)
  }

  /** Begins to load it; resolves when it has registered or failed. */
  settled(): Promise<void> {
    this.#settled ??= this.#load()
    return this.#settled
  }

  /** The same, but resolves after a time limit as well, which all callers share. */
  ready(): Promise<void> {
    this.#ready ??= waitAtMost(this.settled())
    return this.#ready
  }

  /** Calls the plugin. Throws PluginFailed, RunEnded, the Error that it threw, or the signal's reason. */
  async call(name: CallName, input: unknown, options: CallOptions): Promise<unknown> {
    const { signal, waitMs, limitMs } = options
    const late = waitMs === undefined ? [] : [AbortSignal.timeout(waitMs)]
    using running = await acquire(this.#running(), AbortSignal.any([signal, ...late]))
    const { run } = running
    return await makeCall(run.call(name, input, options.progress), options, {
      late: async () => {
        const what = name === 'validate' ? 'A check of an input' : `Its hook ${name}`
        if (await run.host.answers()) this.fail(`${what} took longer than ${(limitMs ?? 0) / 1_000} s`)
      },
      stuck: () => {
        if (this.#run === run) this.#breakOff(new RunEnded('Another call of the plugin did not end with its abort'))
      },
    })
  }

  /** Passes an event on, if the plugin listens and is running. */
  emit(name: string, event: unknown): void {
    if (this.registration?.events.has(name)) this.#run?.emit(name, event)
  }

  isIn(host: PluginHost): boolean {
    return this.#run?.host === host
  }

  /** Its process has ended. */
  leave(host: PluginHost): void {
    if (this.#run?.host !== host) return
    this.#run.end(new RunEnded('The process of the plugin has ended'))
    this.#run = undefined
  }

  /**
   * Its process was ended, with or without other plugins in it, by a signal that anybody may have sent; but nobody else
   * would kill a process again and again.
   */
  strike(alone: boolean, how: string): void {
    const now = performance.now()
    this.#deaths = [...this.#deaths.filter((time) => time > now - DEATHS_WITHIN_MS), now]
    const count = this.#deaths.length
    if (alone && count >= MAX_DEATHS) this.fail(`Its process ended ${count} times: ${how}`)
  }

  /** It has failed from now on. */
  fail(error: string): void {
    if (this.#failure !== undefined || this.#closed.signal.aborted) return
    this.#failure = logFailure(this.#context, this.declared.key, error)
    this.#breakOff(new PluginFailed(error))
    this.#context.changed()
  }

  /** It is no longer wanted. */
  close(): void {
    this.#closed.abort(new RunEnded('The plugin was changed or removed'))
    this.#endRun(this.#closed.signal.reason)
  }

  async #load(): Promise<void> {
    while (this.#failure === undefined && !this.#closed.signal.aborted) {
      try {
        using _loaded = await this.#running()
        return
      } catch (error) {
        if (!(error instanceof RunEnded)) this.fail(error instanceof Error ? error.message : String(error))
      }
    }
  }

  /** Its run, in a process that nobody takes away meanwhile. */
  async #running(): Promise<Disposable & { readonly run: PluginRun }> {
    this.#throwIfOver()
    const entry = await this.#module.find(this.#closed.signal)
    const use = await this.#context.slot().use()
    try {
      this.#throwIfOver()
      const run = this.#run?.host === use.host ? this.#run : this.#begin(use.host, entry)
      await run.loaded
      use.started()
      this.#throwIfOver()
      return { run, [Symbol.dispose]: () => use[Symbol.dispose]() }
    } catch (error) {
      use[Symbol.dispose]()
      throw error
    }
  }

  #begin(host: PluginHost, entry: string): PluginRun {
    const { directory, limits } = this.#context
    const { memoryBytes, loadMs, hookMs } = limits
    const run: PluginRun = new PluginRun(host, {
      loadMs,
      start: { entry, directory, options: this.declared.options, memoryBytes, blockedMs: Math.ceil(hookMs * 0.8) },
      loaded: (path, fingerprint) => this.#module.addFile(path, fingerprint),
      ready: (registration) => this.#observeReady(registration, entry),
      failed: (error) => {
        if (this.#run === run) this.fail(error)
      },
    })
    this.#run = run
    return run
  }

  /** Throws for an invalid registration. */
  #observeReady(message: unknown, entry: string): void {
    const registration = readRegistration(message, entry, this.#context.reserved)
    if (this.registration === undefined || digestOf(this.registration) !== digestOf(registration))
      this.#context.changed()
    this.registration = registration
  }

  #breakOff(reason: Error): void {
    const host = this.#run?.host
    this.#endRun(reason)
    if (host !== undefined) this.#context.retire(host)
  }

  #endRun(reason: Error): void {
    const run = this.#run
    this.#run = undefined
    run?.end(reason)
  }

  #throwIfOver(): void {
    this.#closed.signal.throwIfAborted()
    if (this.#failure !== undefined) throw new PluginFailed(this.#failure.error)
  }
}

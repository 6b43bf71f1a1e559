import { hash } from 'node:crypto'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Offer } from '#services/catalog/ports/source.ts'
import type { OpenConfiguration } from '../configuration/configuration.ts'
import type { PlaceWatch } from '../watch/place-watch.ts'
import { Duplicates } from './duplicates.ts'
import type { HostSlot } from './host-slot.ts'
import { Plugin } from './plugin.ts'
import { digestOf, type PluginContext } from './plugin-context.ts'
import type { DeclaredPlugin, PluginFiles } from './plugin-files.ts'
import type { HostEnd, PluginHost } from './plugin-host.ts'
import { PluginSet } from './plugin-set.ts'

interface Options extends Omit<PluginContext, 'slot' | 'retire' | 'directory'> {
  readonly configuration: OpenConfiguration
  readonly watch: PlaceWatch
  find(documents: Awaited<ReturnType<OpenConfiguration['read']>>): Promise<PluginFiles>
  openSlot(onEnd: (host: PluginHost, end: HostEnd) => void): HostSlot
}

/** Signals that a process only gets because of its own actions. */
const OWN_DOING = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGTRAP', 'SIGFPE'])

/** The plugins of one location: those that are configured now, their processes, and what they offer. */
export class LocationPlugins implements AsyncDisposable {
  readonly #location: Location
  readonly #options: Options
  readonly #shared: HostSlot
  /** Processes of plugins that shared one with others when it ended. */
  readonly #own = new Map<Plugin, HostSlot>()
  /** Plugins that are being closed. */
  readonly #ending = new Set<Promise<void>>()
  readonly #watched = new Map<string, Disposable>()
  readonly #duplicates: Duplicates
  #plugins: readonly Plugin[] = []
  /** How often each was opened: one that comes back unchanged is still a new one. */
  readonly #opened = new Map<string, number>()
  #disposed = false
  #reading: Promise<Offer<PluginSet>> | undefined
  #offer: Offer<PluginSet> | undefined

  constructor(location: Location, options: Options) {
    this.#location = location
    this.#options = options
    this.#duplicates = new Duplicates({ directory: location.directory, logger: options.logger })
    this.#shared = this.#openSlot()
  }

  /** What is offered now, after waiting for plugins that are loading. Shared by concurrent callers. */
  read(): Promise<Offer<PluginSet>> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Where its plugins are looked for at this moment, and the files that they were loaded from. */
  async modules(): Promise<string[]> {
    const { places } = await this.#find()
    return [...places, ...this.#files()]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
    this.#options.configuration[Symbol.dispose]()
    this.#options.watch[Symbol.dispose]()
    for (const watched of this.#watched.values()) watched[Symbol.dispose]()
    for (const plugin of this.#plugins) plugin.close()
    const ends = [this.#shared, ...this.#own.values()].map((slot) => slot[Symbol.asyncDispose]())
    await Promise.all([...ends, ...this.#ending])
  }

  async #read(): Promise<Offer<PluginSet>> {
    const sources = await this.#find()
    const before = this.#plugins
    const same = new Map<string, Plugin>()
    for (const plugin of before) if (!(await plugin.replaced())) same.set(plugin.declared.key, plugin)
    if (this.#disposed) return this.#present()
    this.#plugins = sources.declared.map((declared) => {
      const plugin = same.get(declared.key)
      return plugin?.declared.fingerprint === declared.fingerprint ? plugin : this.#open(declared)
    })
    const kept = new Set(this.#plugins)
    for (const plugin of before) if (!kept.has(plugin)) this.#close(plugin)
    this.#follow(sources)
    await Promise.all(this.#plugins.map((plugin) => plugin.ready()))
    this.#follow(sources)
    return this.#present()
  }

  async #find(): Promise<PluginFiles> {
    return await this.#options.find(await this.#options.configuration.read())
  }

  #follow({ places, folders }: PluginFiles): void {
    this.#options.watch.follow({ places: [...places, ...this.#files()], folders })
  }

  #files(): string[] {
    return this.#plugins.flatMap(({ files }) => files)
  }

  #open(declared: DeclaredPlugin): Plugin {
    const { configuration, watch, find, openSlot, ...context } = this.#options
    const { key, origin } = declared
    this.#opened.set(key, (this.#opened.get(key) ?? 0) + 1)
    if (origin.type === 'package' && declared.problem === undefined && !this.#watched.has(origin.target)) {
      this.#watched.set(origin.target, context.packages.watch(origin.target, context.changed))
    }
    const plugin: Plugin = new Plugin(declared, {
      ...context,
      directory: this.#location.directory,
      slot: () => this.#own.get(plugin) ?? this.#shared,
      retire: (host) => {
        for (const slot of [this.#shared, ...this.#own.values()]) slot.retire(host)
      },
    })
    return plugin
  }

  #close(plugin: Plugin): void {
    plugin.close()
    const own = this.#own.get(plugin)
    this.#own.delete(plugin)
    const ending = own?.[Symbol.asyncDispose]().catch((error: unknown) => {
      this.#options.logger.warn({ err: error, plugin: plugin.declared.key }, 'A process of plugins could not be ended')
    })
    if (ending === undefined) return
    this.#ending.add(ending)
    void ending.finally(() => this.#ending.delete(ending))
  }

  #present(): Offer<PluginSet> {
    const parts = this.#plugins.map(({ declared: { key, fingerprint }, info, works, registration }) => {
      const { failure, ...rest } = info
      return [
        fingerprint,
        this.#opened.get(key),
        rest,
        failure?.error,
        works && registration !== undefined ? digestOf(registration) : null,
      ]
    })
    const digest = hash('sha256', JSON.stringify(parts), 'hex')
    if (this.#offer?.digest !== digest) {
      const { reserved, limits, logger } = this.#options
      const duplicates = this.#duplicates.of(this.#plugins)
      const value = new PluginSet(this.#plugins, duplicates, { taken: reserved, hookMs: limits.hookMs, logger })
      this.#offer = { digest, value }
    }
    return this.#offer
  }

  #openSlot(): HostSlot {
    return this.#options.openSlot((host, end) => this.#observeEnd(host, end))
  }

  /**
   * A process has ended by itself. If it had several plugins, any of them may be the cause: then each gets a process of
   * its own, where the cause shows.
   */
  #observeEnd(host: PluginHost, { code, signal, misuse }: HostEnd): void {
    const inside = this.#plugins.filter((plugin) => plugin.isIn(host))
    const alone = inside.length === 1
    const died = signal === null ? `exit code ${code}` : signal
    const how = misuse === undefined ? died : `something else wrote to its channel (${misuse})`
    this.#options.logger.warn({ directory: this.#location.directory, how }, 'A process of plugins has ended')
    for (const plugin of inside) {
      if (!alone && !this.#own.has(plugin)) this.#own.set(plugin, this.#openSlot())
      if (alone && (signal === null || OWN_DOING.has(signal))) plugin.fail(`It ended its process: ${how}`)
      else plugin.strike(alone, how)
      plugin.leave(host)
    }
  }
}

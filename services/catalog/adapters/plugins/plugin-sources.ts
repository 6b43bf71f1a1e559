import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Location, Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { type AgentSet, mergeAgents } from '#services/catalog/domain/agent-merge.ts'
import type { PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import type { PluginSource, Plugins } from '#services/catalog/ports/plugins.ts'
import type { Offer, OpenSource, Source } from '#services/catalog/ports/source.ts'
import type { ToolSource } from '#services/catalog/ports/tools.ts'
import type { ProcessPlaces } from '#services/catalog/run/process-places.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { StartCommand } from '../commands/command.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { TrustedDirectories } from '../configuration/trusted-directories.ts'
import type { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { PlaceWatch } from '../watch/place-watch.ts'
import { Turns } from '../watch/turns.ts'
import { HostSlot } from './host-slot.ts'
import { LocationPlugins } from './location-plugins.ts'
import type { PluginLimits } from './plugin-context.ts'
import { findPlugins } from './plugin-files.ts'
import { PluginHost } from './plugin-host.ts'
import type { PluginSet } from './plugin-set.ts'
import { PluginTools } from './plugin-tools.ts'

/**
 * How many plugins of one process load at once: at least two, so that one that hangs does not keep the others waiting.
 */
const LOADS_AT_ONCE = Math.min(Math.max(availableParallelism(), 2), 8)

interface Options {
  readonly configDirectory: string
  readonly home: string
  readonly configuration: Configuration
  readonly trusted: TrustedDirectories
  readonly packages: PluginPackages
  readonly watchers: DirectoryWatchers
  readonly places: ProcessPlaces
  readonly start: StartCommand
  readonly environment: Readonly<Record<string, string>>
  readonly limits: PluginLimits
  /** Names of tools that belong to no plugin, and actions of their permissions. */
  readonly taken: ReadonlySet<string>
  readonly logger: Logger
}

interface Shared {
  readonly plugins: LocationPlugins
  readonly changed: Set<() => void>
}

/**
 * The plugins of locations, as sources of what they offer. Sources that are open for one location, as an object, share
 * its plugins, which end with the last source. Disposal ends all of them.
 */
export class PluginSources implements AsyncDisposable {
  readonly #options: Options
  readonly #turns = new Turns()
  readonly #shared = new Map<Location, Shared>()
  readonly #ending = new Set<Promise<void>>()

  constructor(options: Options) {
    this.#options = options
  }

  get plugins(): PluginSource {
    return { open: (location, changed) => this.#open(location, changed, (offer) => offer) }
  }

  get tools(): ToolSource {
    const { hookMs } = this.#options.limits
    return {
      open: (location, changed) =>
        this.#open(location, changed, ({ value, digest }) => ({ digest, value: new PluginTools(value.tools, hookMs) })),
    }
  }

  /** Where plugins of a directory in use are looked for, and the files that they were loaded from. */
  async modules({ directory }: Location): Promise<string[]> {
    const open = [...this.#shared].filter(([location]) => location.directory === directory)
    return (await Promise.all(open.map(([, { plugins }]) => plugins.modules()))).flat()
  }

  /** Agents of files, which take precedence, and of plugins. */
  agents(files: Source<readonly AgentDocument[]>): Source<AgentSet> {
    const { home } = this.#options
    return this.#with(files, (documents, plugins) => {
      const { agents, permissions } = plugins.agents
      return mergeAgents([{ agents, permissions: [] }, ...documents], home, permissions)
    })
  }

  /** Skills of files, which take precedence, and of plugins. */
  skills(files: Source<Skill[]>): Source<Skill[]> {
    return this.#with(files, (skills, plugins) => {
      const ids = new Set(skills.map(({ skillId }) => skillId))
      return [...skills, ...plugins.skills.filter(({ skillId }) => !ids.has(skillId))]
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#shared.values()].map(({ plugins }) => plugins[Symbol.asyncDispose]()))
    this.#shared.clear()
    await Promise.all(this.#ending)
  }

  #with<F, V>(files: Source<F>, merge: (files: F, plugins: Plugins) => V): Source<V> {
    return {
      open: (location, changed) => {
        const open = { files: files.open(location, changed), plugins: this.plugins.open(location, changed) }
        let last: { readonly files: F; readonly plugins: Plugins; readonly offer: Offer<V> } | undefined
        return {
          read: async () => {
            const [ofFiles, { value: plugins }] = await Promise.all([open.files.read(), open.plugins.read()])
            const { value: declarations, problems } = ofFiles
            if (last?.files === declarations && last.plugins === plugins) return last.offer
            const value = merge(declarations, plugins)
            const offer = { value, digest: hash('sha256', JSON.stringify(value), 'hex'), problems }
            last = { files: declarations, plugins, offer }
            return offer
          },
          [Symbol.dispose]: () => {
            open.files[Symbol.dispose]()
            open.plugins[Symbol.dispose]()
          },
        }
      },
    }
  }

  #open<V>(location: Location, changed: () => void, offer: (of: Offer<PluginSet>) => Offer<V>): OpenSource<V> {
    const shared = this.#shared.get(location) ?? this.#share(location)
    const own = (): void => changed()
    shared.changed.add(own)
    return {
      read: async () => offer(await shared.plugins.read()),
      [Symbol.dispose]: () => {
        shared.changed.delete(own)
        if (shared.changed.size > 0 || this.#shared.get(location) !== shared) return
        this.#shared.delete(location)
        const ending = shared.plugins[Symbol.asyncDispose]().catch((err: unknown) => {
          this.#options.logger.warn({ err, directory: location.directory }, 'Processes of plugins could not be ended')
        })
        this.#ending.add(ending)
        void ending.finally(() => this.#ending.delete(ending))
      },
    }
  }

  #share(location: Location): Shared {
    const { configuration, watchers, places, start, environment, taken, ...options } = this.#options
    const listeners = new Set<() => void>()
    const changed = (): void => {
      for (const listener of listeners) listener()
    }
    const { directory } = location
    const { logger } = options
    const plugins = new LocationPlugins(location, {
      ...options,
      reserved: taken,
      changed,
      configuration: configuration.open(location, changed),
      watch: new PlaceWatch({ watchers, turns: this.#turns, changed }),
      find: (documents) => findPlugins(options, location, documents),
      openSlot: (onEnd) =>
        new HostSlot({
          places,
          onEnd,
          start: () =>
            PluginHost.start({ start, directory, environment, loads: LOADS_AT_ONCE, logger }).catch((err: unknown) => {
              logger.warn({ err, directory }, 'A process of plugins could not be started; another attempt follows')
              throw err
            }),
        }),
    })
    const shared = { plugins, changed: listeners }
    this.#shared.set(location, shared)
    return shared
  }
}

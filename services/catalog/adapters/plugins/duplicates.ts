import type { PluginFailure } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Plugin } from './plugin.ts'
import { logFailure, type PluginContext } from './plugin-context.ts'

/** The plugins of a location whose id another one has: among those that work, the first one keeps it. */
export class Duplicates {
  readonly #context: Pick<PluginContext, 'logger' | 'directory'>
  #duplicates: ReadonlyMap<Plugin, PluginFailure> = new Map()

  constructor(context: Pick<PluginContext, 'logger' | 'directory'>) {
    this.#context = context
  }

  /** Logs those that were not duplicates when it was last called. */
  of(plugins: readonly Plugin[]): ReadonlyMap<Plugin, PluginFailure> {
    const first = new Map<string, Plugin>()
    const duplicates = new Map<Plugin, PluginFailure>()
    for (const plugin of plugins) {
      const id = plugin.registration?.id
      if (!plugin.works || id === undefined) continue
      const other = first.get(id)
      if (other === undefined) first.set(id, plugin)
      else duplicates.set(plugin, this.#duplicates.get(plugin) ?? this.#log(plugin, id, other))
    }
    this.#duplicates = duplicates
    return duplicates
  }

  #log({ declared }: Plugin, id: string, other: Plugin): PluginFailure {
    const error = `There is another plugin with the id ${id}: ${other.declared.key}`
    return logFailure(this.#context, declared.key, error)
  }
}

import type { PluginOrigin } from '#services/catalog/domain/plugins/plugin.ts'

/** A plugin that is named in a configuration, or found in a folder of plugins. */
export interface DeclaredPlugin {
  /** Unique within its location. */
  readonly key: string
  readonly origin: PluginOrigin
  /** JSON from the configuration; null: none. */
  readonly options: unknown
  /** Changes when its module or its options do. */
  readonly fingerprint: string
  /** Why it must not run; undefined: it may. */
  readonly problem: string | undefined
}

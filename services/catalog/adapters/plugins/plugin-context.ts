import type { Registration } from '#services/catalog/domain/plugins/registration.ts'
import type { PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import type { JsonObject } from '#shared/json.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { HostSlot } from './host-slot.ts'
import type { Plugin } from './plugin.ts'
import type { PluginHost } from './plugin-host.ts'

/** Limits of one plugin. */
export interface PluginLimits {
  readonly loadMs: number
  readonly hookMs: number
  readonly memoryBytes: number
}

/** What plugins of one location have from it. */
export interface PluginContext {
  readonly directory: string
  readonly limits: PluginLimits
  readonly packages: PluginPackages
  /** Actions of other tools. */
  readonly reserved: ReadonlySet<string>
  readonly logger: Logger
  /** The process that a plugin is to run in. */
  slotOf(plugin: Plugin): HostSlot
  /** A plugin was ended in a process by force: what it had started there is to end, too. */
  retire(host: PluginHost): void
  /** What a plugin offers has changed, or it has failed. */
  changed(): void
}

export interface CallOptions {
  readonly signal: AbortSignal
  /** How long it waits for a process that it can run in; then the call is not made (TimeoutError). Undefined: as long as it takes. */
  readonly waitMs?: number
  /** It fails when a call takes longer. Undefined: the call is ended, and only its own thread begins anew. */
  readonly limitMs?: number
  readonly progress?: (metadata: JsonObject) => void
}

/** A plugin that is failed, for people to read. */
export class PluginFailed extends Error {
  override readonly name = 'PluginFailed'
}

/** What decides what a plugin offers. */
export function digestOf(registration: Registration): string {
  const { agents, hooks, events, ...rest } = registration
  return JSON.stringify([rest, [...agents], [...hooks], [...events]])
}

import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { type PluginFailure, PluginFailureSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Registration } from '#services/catalog/domain/plugins/registration.ts'
import type { PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { HostSlot } from './host-slot.ts'
import type { PluginHost } from './plugin-host.ts'

export interface PluginLimits {
  readonly loadMs: number
  readonly hookMs: number
  readonly memoryBytes: number
}

/** What a plugin gets from its location. */
export interface PluginContext {
  readonly directory: string
  readonly limits: PluginLimits
  readonly packages: PluginPackages
  /** Names of other tools, and actions of their permissions. */
  readonly reserved: ReadonlySet<string>
  readonly logger: Logger
  /** The process that it must run in. */
  slot(): HostSlot
  /** It was forcibly ended in a process, so everything that it had started there must end, too. */
  retire(host: PluginHost): void
  /** What a plugin offers has changed, or it has failed. */
  changed(): void
}

/** A plugin has failed; the message is for people. */
export class PluginFailed extends Error {
  override readonly name = 'PluginFailed'
}

/** Logs why a plugin does not work, with a reference that is also in its failure. */
export function logFailure(
  { logger, directory }: Pick<PluginContext, 'logger' | 'directory'>,
  plugin: string,
  error: string,
): PluginFailure {
  const ref = `err_${randomBytes(4).toString('hex')}`
  logger.warn({ directory, plugin, ref, error }, 'A plugin has failed')
  return create(PluginFailureSchema, { error, ref })
}

/** A digest of everything that determines what a plugin offers. */
export function digestOf(registration: Registration): string {
  const { agents, hooks, events, ...rest } = registration
  return JSON.stringify([rest, [...agents], [...hooks], [...events]])
}

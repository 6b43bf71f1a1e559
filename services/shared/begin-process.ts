import { type Environment, variablesAsked } from '#shared/config.ts'
import { maskSecrets } from '#shared/config-print.ts'
import { giveBackIdleMemory } from '#shared/idle-memory.ts'
import { createLogger, type Logger } from '#shared/logging.ts'
import type { SingleProcessConfig } from '#shared/process-config.ts'
import { startTelemetry } from '#shared/telemetry.ts'
import { warnOfUnknownSettings } from '#shared/unknown-settings.ts'
import { startWatchdog } from '#shared/watchdog.ts'

/** A process that has begun. */
export interface BegunProcess {
  readonly logger: Logger
  /** To be called once everything is open: from then on the event loop must turn as often as is set. */
  opened(): void
}

/**
 * What every process does once it has read its settings and before it opens anything: it logs the settings, and those that
 * mean nothing, and starts its watchdog and its telemetry, which ends with the resources.
 */
export async function beginProcess(
  service: string,
  config: { readonly settings: object; readonly process: SingleProcessConfig; readonly env: Environment },
  resources: AsyncDisposableStack,
): Promise<BegunProcess> {
  const { logLevel, watchdogMs, telemetry } = config.process
  const logger = createLogger({ service, level: logLevel })
  logger.info({ settings: maskSecrets(config.settings) }, 'Starting')
  warnOfUnknownSettings(config.env, variablesAsked(), logger)
  const watchdog = startWatchdog({ limitMs: watchdogMs, service, logger })
  resources.use(await startTelemetry(service, telemetry))
  const opened = (): void => {
    watchdog.opened()
    giveBackIdleMemory()
  }
  return { logger, opened }
}

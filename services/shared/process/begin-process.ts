import { flushCompileCache } from 'node:module'
import { declaredVariables } from '#shared/config/config.ts'
import { maskSecrets } from '#shared/config/config-print.ts'
import { warnOfUnknownSettings } from '#shared/config/unknown-settings.ts'
import type { Environment } from '#shared/config/variables.ts'
import type { SingleProcessConfig } from '#shared/process/process-config.ts'
import { startWatchdog } from '#shared/process/watchdog.ts'
import { createLogger, type Logger } from '#shared/telemetry/logging.ts'
import { startTelemetry } from '#shared/telemetry/telemetry.ts'

export interface BegunProcess {
  readonly logger: Logger
  /** Must be called once everything is open; from then on the event loop must turn within the configured limit. */
  opened(): void
}

/**
 * What every process does after reading its settings and before opening anything: it logs the settings, warns of those
 * that are unknown, and starts its watchdog and its telemetry, which ends with the resources.
 */
export async function beginProcess(
  service: string,
  config: { readonly settings: object; readonly process: SingleProcessConfig; readonly env: Environment },
  resources: AsyncDisposableStack,
): Promise<BegunProcess> {
  const { logLevel, watchdogMs, telemetry } = config.process
  const logger = createLogger({ service, level: logLevel })
  logger.info({ settings: maskSecrets(config.settings) }, 'Starting')
  warnOfUnknownSettings(config.env, declaredVariables(), logger)
  const watchdog = startWatchdog({ limitMs: watchdogMs, service, logger })
  resources.use(await startTelemetry(service, telemetry))
  const opened = (): void => {
    watchdog.opened()
    // Not only at the end: a process that is killed has a fast start next time, too.
    flushCompileCache()
  }
  return { logger, opened }
}

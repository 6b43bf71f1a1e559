// The process of the identity service alone.
import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config.ts'
import { runUntilSignal } from '#shared/lifecycle.ts'
import { createLogger } from '#shared/logging.ts'
import { readServiceProcessConfig, type ServiceProcessConfig } from '#shared/process-config.ts'
import { serve } from '#shared/serve.ts'
import { startTelemetry } from '#shared/telemetry.ts'
import { readConfig } from './config.ts'
import { open } from './open.ts'

const readProcess = (env: NodeJS.ProcessEnv): ServiceProcessConfig => readServiceProcessConfig(env, 'identity')

const options = { shutdownMs: 15_000 }

await runUntilSignal(async (resources) => {
  const { service, server } = readTogether(process.env, { service: readConfig, server: readProcess })
  options.shutdownMs = server.drainMs + 5_000
  resources.use(await startTelemetry('identity', server.telemetry))
  const logger = createLogger({ service: 'identity', level: server.logLevel })
  const identity = resources.use(await open(service, { clock: systemClock, logger }))
  const { createdManagementKey, createdApiKey } = identity.bootstrap
  // Not logged: a log is kept, and a key is to be seen once.
  if (createdManagementKey !== undefined) tell(`Management key, shown once: ${createdManagementKey}`)
  if (createdApiKey !== undefined) tell(`Workspace API key, shown once: ${createdApiKey}`)
  const { url } = resources.use(await serve({ ...server, routes: [identity.routes], logger }))
  logger.info({ url }, 'Serving')
}, options)

function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}

// The process of the catalog service alone.
import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config.ts'
import { runUntilSignal } from '#shared/lifecycle.ts'
import { createLogger } from '#shared/logging.ts'
import { readServiceProcessConfig, type ServiceProcessConfig } from '#shared/process-config.ts'
import { serve } from '#shared/serve.ts'
import { readConfig } from './config.ts'
import { open } from './open.ts'

const readProcess = (env: NodeJS.ProcessEnv): ServiceProcessConfig => readServiceProcessConfig(env, 'catalog')
const options = { shutdownMs: 15_000 }

await runUntilSignal(async (resources) => {
  const { service, server } = readTogether(process.env, { service: readConfig, server: readProcess })
  options.shutdownMs = server.drainMs + 5_000
  const logger = createLogger({ service: 'catalog', level: server.logLevel })
  const { routes } = resources.use(await open(service, { clock: systemClock, logger }))
  const { url } = resources.use(await serve({ ...server, routes: [routes], logger }))
  logger.info({ url }, 'Serving')
}, options)

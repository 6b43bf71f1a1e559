// The process of the session service alone.
import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config.ts'
import { createHttp2Transport } from '#shared/http2-transport.ts'
import { runUntilSignal } from '#shared/lifecycle.ts'
import { createLogger } from '#shared/logging.ts'
import { readServiceProcessConfig } from '#shared/process-config.ts'
import { serve } from '#shared/serve.ts'
import { startTelemetry } from '#shared/telemetry.ts'
import { readConfig } from './config.ts'
import { open } from './open.ts'

const readProcess = (env: NodeJS.ProcessEnv) => readServiceProcessConfig(env, 'session', ['catalog', 'inference'])
const options = { shutdownMs: 15_000 }

await runUntilSignal(async (resources) => {
  const { service, server } = readTogether(process.env, { service: readConfig, server: readProcess })
  options.shutdownMs = server.drainMs + 10_000
  resources.use(await startTelemetry('session', server.telemetry))
  const logger = createLogger({ service: 'session', level: server.logLevel })
  const { peers, secret } = server
  const catalog = resources.use(createHttp2Transport({ url: peers.catalog, secret }))
  const inference = resources.use(createHttp2Transport({ url: peers.inference, secret }))
  const { routes } = resources.use(await open(service, { clock: systemClock, logger, catalog, inference }))
  const { url } = resources.use(await serve({ ...server, routes: [routes], logger }))
  logger.info({ url }, 'Serving')
}, options)

// The process of the inference service alone.
import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config.ts'
import { createHttp2Transport } from '#shared/http2-transport.ts'
import { runUntilSignal } from '#shared/lifecycle.ts'
import { createLogger } from '#shared/logging.ts'
import { readServiceProcessConfig } from '#shared/process-config.ts'
import { serve } from '#shared/serve.ts'
import { readConfig } from './config.ts'
import { open } from './open.ts'

const readProcess = (env: NodeJS.ProcessEnv) => readServiceProcessConfig(env, 'inference', ['identity'])
const options = { shutdownMs: 15_000 }

await runUntilSignal(async (resources) => {
  const { service, server } = readTogether(process.env, { service: readConfig, server: readProcess })
  options.shutdownMs = server.drainMs + 5_000
  const logger = createLogger({ service: 'inference', level: server.logLevel })
  const identity = resources.use(createHttp2Transport({ url: server.peers.identity, secret: server.secret }))
  const { defaultModel, providers } = service
  const inference = resources.use(await open(service, { clock: systemClock, logger, identity }))
  const { url } = resources.use(await serve({ ...server, routes: [inference.routes], logger }))
  logger.info({ url, providers: providers.map(({ id }) => id), defaultModel }, 'Serving')
}, options)

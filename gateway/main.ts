// The process of the facade alone; the four services are processes of their own.

import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config/config.ts'
import { type Environment, peerVariable } from '#shared/config/variables.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { beginProcess } from '#shared/process/begin-process.ts'
import { leave } from '#shared/process/leave.ts'
import { readProcessConfig } from '#shared/process/process-config.ts'
import { loggedStop, runUntilSignal } from '#shared/process/run-until-signal.ts'
import { PeerReport } from '#shared/rpc/peer-report.ts'
import { createApp } from './app/app.ts'
import { createClients } from './clients.ts'
import { readConfig } from './config.ts'
import { listen } from './http/listen.ts'
import { PeerReadiness } from './readiness.ts'

const readProcess = (env: Environment) => readProcessConfig(env, ['session', 'catalog', 'inference', 'identity'])
/** Time to close connections once requests have ended, in milliseconds. */
const CLOSE_MS = 5_000
const options = { shutdownMs: CLOSE_MS }

await runUntilSignal(async (resources) => {
  const { config, own } = readTogether(process.env, { config: readConfig, own: readProcess })
  options.shutdownMs = own.unreadyMs + own.drainMs + CLOSE_MS
  const begun = { settings: { config, own }, process: own, env: process.env }
  const { logger, opened } = await beginProcess('gateway', begun, resources)
  Object.assign(options, loggedStop(logger))
  const to = (name: keyof typeof own.peers) => {
    const url = own.peers[name]
    const report = new PeerReport({ name, url, setting: peerVariable(name) }, logger, systemClock)
    return resources.use(createHttp2Transport({ url, secret: own.secret, report }))
  }
  const clients = createClients({
    session: to('session'),
    catalog: to('catalog'),
    inference: to('inference'),
    identity: to('identity'),
  })
  // Acquired last, so that it is disposed first: no request finds a connection closed.
  const listener = resources.use(await listen(config, logger))
  resources.defer(() => leave(own, [listener]))
  const { lifecycle, serve, url } = listener
  const readiness = resources.use(new PeerReadiness(clients))
  serve(createApp({ config, clients, clock: systemClock, logger, lifecycle, readiness, urls: () => [url] }))
  opened()
  logger.info({ url }, 'Serving')
}, options)

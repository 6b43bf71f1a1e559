import type { DescService } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { type Clock, systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config/config.ts'
import { type Environment, peerVariable } from '#shared/config/variables.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { beginProcess } from '#shared/process/begin-process.ts'
import { type Leaving, leave } from '#shared/process/leave.ts'
import { openWhenMigrated } from '#shared/process/open-when-migrated.ts'
import { readServiceProcessConfig, type ServiceName } from '#shared/process/process-config.ts'
import { loggedStop, runUntilSignal } from '#shared/process/run-until-signal.ts'
import { serve } from '#shared/process/serve.ts'
import { PeerReport } from '#shared/rpc/peer-report.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many milliseconds a service may take to close once its calls have ended. */
const CLOSE_MS = 5_000

/** What a service is opened with: what every service gets, and a transport to each of its peers. */
export type ServiceDependencies<P extends ServiceName> = { readonly clock: Clock; readonly logger: Logger } & {
  readonly [K in P]: Transport
}

/** A service that was opened. If it works on its own, besides calls, it drains that work when the process stops. */
export interface OpenService extends AsyncDisposable {
  readonly routes: Routes
  readonly drain?: Leaving['drain']
}

/** One service as a process of its own. */
export interface ServiceProcess<C, P extends ServiceName, S extends OpenService> {
  readonly name: ServiceName
  /** The services that it calls; PORTICO_…_URL are their addresses. */
  readonly peers: readonly P[]
  /** What it serves. */
  readonly services: readonly DescService[]
  readonly readConfig: (env: Environment) => C
  readonly open: (config: C, dependencies: ServiceDependencies<P>) => Promise<S>
  /** Called with the open service before it serves. */
  readonly opened?: (service: S) => void
}

/**
 * Opens a service and serves it over HTTP/2. At a signal, it leaves (`leave`), closes the service and ends the process.
 */
export async function runService<C, P extends ServiceName, S extends OpenService>(
  { name, peers, services, readConfig, open, opened }: ServiceProcess<C, P, S>,
  env: Environment,
): Promise<never> {
  const stop = { shutdownMs: CLOSE_MS }
  return runUntilSignal(async (resources) => {
    const readers = { service: readConfig, process: (of: Environment) => readServiceProcessConfig(of, name, peers) }
    const config = readTogether(env, readers)
    stop.shutdownMs = config.process.unreadyMs + config.process.drainMs + CLOSE_MS
    const begun = { settings: config, process: config.process, env }
    const { logger, opened: processOpened } = await beginProcess(name, begun, resources)
    Object.assign(stop, loggedStop(logger))
    const transports = peers.map((peer) => {
      const url = config.process.peers[peer]
      const report = new PeerReport({ name: peer, url, setting: peerVariable(peer) }, logger, systemClock)
      const transport = createHttp2Transport({ url, secret: config.process.secret, report })
      return [peer, resources.use(transport)] as const
    })
    const dependencies = { clock: systemClock, logger, ...Object.fromEntries(transports) } as ServiceDependencies<P>
    const serveRoutes = (routes: Routes) => serve({ ...config.process, routes: [routes], logger })
    const waiting = { name, services, serve: serveRoutes, logger }
    const service = resources.use(await openWhenMigrated(() => open(config.service, dependencies), waiting))
    processOpened()
    opened?.(service)
    const server = resources.use(await serveRoutes(service.routes))
    const { drain } = service
    resources.defer(() => leave(config.process, drain === undefined ? [server] : [server, { drain }]))
    logger.info({ url: server.url }, 'Serving')
  }, stop)
}

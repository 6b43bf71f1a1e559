import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/logging.ts'
import type { Routes } from '#shared/routes.ts'
import { FileAgents } from './adapters/file-agents.ts'
import { FileLocations } from './adapters/file-locations.ts'
import { WorkspaceRoots } from './adapters/workspace-roots.ts'
import type { Config } from './config.ts'
import { catalogRoutes } from './routes.ts'

/** What the catalog service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
}

/** Opens the service. */
export async function open(config: Config, dependencies: Dependencies): Promise<{ routes: Routes } & AsyncDisposable> {
  const { clock, logger } = dependencies
  const { directory, configDirectory, home, environment } = config
  const roots = new WorkspaceRoots(config.roots)
  const locations = new FileLocations({ directory, roots, clock, path: environment.PATH ?? '' })
  const agents = new FileAgents({ configDirectory, home, logger })
  return { routes: catalogRoutes({ locations, agents }), [Symbol.asyncDispose]: async () => {} }
}

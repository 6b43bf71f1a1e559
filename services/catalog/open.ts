import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { serviceClosing } from '#shared/rpc/server-reasons.ts'
import type { Config } from './config.ts'
import type { Directories, DirectoriesOptions } from './open-directories.ts'
import { createRoutes } from './routes.ts'

const directories = lazyModule(() => import('./open-directories.ts'))

/** The services of this process. */
export const services = [CatalogService] as const

/** What the catalog service needs from outside. */
export type Dependencies = Omit<DirectoriesOptions, 'config'>

/** The open service. */
export interface Opened extends AsyncDisposable {
  readonly routes: Routes
}

/** Opens the service; the parts that work on directories are opened by the first call. Disposal ends it. */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const draining = new AbortController()
  let opening: Promise<Directories> | undefined
  const openNow = async (): Promise<Directories> => {
    const { openDirectories } = await directories()
    draining.signal.throwIfAborted()
    return openDirectories({ ...dependencies, config })
  }
  const routes = createRoutes({
    openDirectories() {
      opening = openNow()
      return opening
    },
  })
  return {
    routes: { ...routes, draining: draining.signal },
    async [Symbol.asyncDispose]() {
      draining.abort(serviceClosing())
      const opened = await opening?.catch(() => undefined)
      await opened?.[Symbol.asyncDispose]()
    },
  }
}

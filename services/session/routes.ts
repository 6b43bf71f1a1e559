import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { lazyHandlers } from '#shared/lazy/lazy-handlers.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import { getSession } from './rpc/session/get-session.ts'
import { listSessions } from './rpc/session/list-sessions.ts'
import type { SessionDependencies } from './rpc/session-service.ts'

const rest = lazyModule(() => import('./rpc/session-service.ts'))

/** What the handlers need. */
export type HandlerDependencies = SessionDependencies

/** The routes of the session service. All but what a client calls first is loaded with the first call of it. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const lazily = lazyHandlers(SessionService, async () => (await rest()).sessionService(dependencies))
  const first = { getSession: getSession(dependencies), listSessions: listSessions(dependencies) }
  return { domain: 'session', reasons, services: [route(SessionService, { ...lazily, ...first })] }
}

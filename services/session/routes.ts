import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import type { SessionDependencies } from './rpc/dependencies.ts'
import { eventHandlers } from './rpc/events.ts'
import { inboxHandlers } from './rpc/inbox.ts'
import { messageHandlers } from './rpc/messages.ts'
import { moveHandlers } from './rpc/moves.ts'
import { permissionHandlers } from './rpc/permissions.ts'
import { promptHandlers } from './rpc/prompts.ts'
import { runHandlers } from './rpc/runs.ts'
import { sessionHandlers } from './rpc/sessions.ts'
import { statsHandlers } from './rpc/stats.ts'
import { transferHandlers } from './rpc/transfer.ts'

export function createRoutes(dependencies: SessionDependencies): Routes {
  const handlers = {
    ...sessionHandlers(dependencies),
    ...runHandlers(dependencies),
    ...moveHandlers(dependencies),
    ...promptHandlers(dependencies),
    ...inboxHandlers(dependencies),
    ...messageHandlers(dependencies),
    ...permissionHandlers(dependencies),
    ...eventHandlers(dependencies),
    ...statsHandlers(dependencies),
    ...transferHandlers(dependencies),
  }
  return { domain: 'session', reasons, services: [route(SessionService, handlers)] }
}

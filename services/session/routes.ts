import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { BlobStore, Catalog, SessionStore } from './ports.ts'
import { reasons } from './reasons.ts'
import { createSession } from './rpc/create-session.ts'
import { getMessage } from './rpc/get-message.ts'
import { getPermissionRequest } from './rpc/get-permission-request.ts'
import { getSession } from './rpc/get-session.ts'
import { interruptSession } from './rpc/interrupt-session.ts'
import { listActiveSessions } from './rpc/list-active-sessions.ts'
import { listMessages } from './rpc/list-messages.ts'
import { listPermissionRequests } from './rpc/list-permission-requests.ts'
import { listSessions } from './rpc/list-sessions.ts'
import { promptSession } from './rpc/prompt-session.ts'
import { replyPermissionRequest } from './rpc/reply-permission-request.ts'
import { streamEvents } from './rpc/stream-events.ts'
import { switchSessionAgent } from './rpc/switch-session-agent.ts'
import { switchSessionModel } from './rpc/switch-session-model.ts'
import { waitSession } from './rpc/wait-session.ts'
import type { EventHub } from './run/event-hub.ts'
import type { SessionWatchers } from './run/session-watchers.ts'

/** What the session service offers. */
export function sessionRoutes(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly hub: EventHub
  readonly watchers: SessionWatchers
}): Routes {
  const implementation = {
    createSession: createSession(dependencies),
    getSession: getSession(dependencies),
    listSessions: listSessions(dependencies),
    promptSession: promptSession(dependencies),
    waitSession: waitSession(dependencies),
    interruptSession: interruptSession(dependencies),
    switchSessionAgent: switchSessionAgent(dependencies),
    switchSessionModel: switchSessionModel(dependencies),
    listActiveSessions: listActiveSessions(dependencies),
    listMessages: listMessages(dependencies),
    getMessage: getMessage(dependencies),
    listPermissionRequests: listPermissionRequests(dependencies),
    getPermissionRequest: getPermissionRequest(dependencies),
    replyPermissionRequest: replyPermissionRequest(dependencies),
    streamEvents: streamEvents(dependencies),
  }
  return { domain: 'session', reasons, services: [route(SessionService, implementation)] }
}

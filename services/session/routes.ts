import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { BlobStore } from './ports/blob-store.ts'
import type { Catalog } from './ports/catalog.ts'
import type { SessionStore } from './ports/session-store.ts'
import { reasons } from './reasons.ts'
import { streamEvents } from './rpc/event/stream-events.ts'
import { streamSessionLog } from './rpc/event/stream-session-log.ts'
import { addSyntheticInput } from './rpc/inbox/add-synthetic-input.ts'
import { cancelInboxItem } from './rpc/inbox/cancel-inbox-item.ts'
import { changeInboxDelivery } from './rpc/inbox/change-inbox-delivery.ts'
import { compactSession } from './rpc/inbox/compact-session.ts'
import { listInboxItems } from './rpc/inbox/list-inbox-items.ts'
import { promptSession } from './rpc/inbox/prompt-session.ts'
import { getMessage } from './rpc/message/get-message.ts'
import { listMessages } from './rpc/message/list-messages.ts'
import { streamSessionContext } from './rpc/message/stream-session-context.ts'
import { deleteSavedApproval } from './rpc/permission/delete-saved-approval.ts'
import { getPermissionRequest } from './rpc/permission/get-permission-request.ts'
import { listPermissionRequests } from './rpc/permission/list-permission-requests.ts'
import { listSavedApprovals } from './rpc/permission/list-saved-approvals.ts'
import { reloadLocations } from './rpc/permission/reload-locations.ts'
import { replyPermissionRequest } from './rpc/permission/reply-permission-request.ts'
import { createSession } from './rpc/session/create-session.ts'
import { forkSession } from './rpc/session/fork-session.ts'
import { getSession } from './rpc/session/get-session.ts'
import { interruptSession } from './rpc/session/interrupt-session.ts'
import { listActiveSessions } from './rpc/session/list-active-sessions.ts'
import { listSessions } from './rpc/session/list-sessions.ts'
import { moveSession } from './rpc/session/move-session.ts'
import { removeSession } from './rpc/session/remove-session.ts'
import { resumeSession } from './rpc/session/resume-session.ts'
import { switchSessionAgent } from './rpc/session/switch-session-agent.ts'
import { switchSessionModel } from './rpc/session/switch-session-model.ts'
import { updateSession } from './rpc/session/update-session.ts'
import { viewSession } from './rpc/session/view-session.ts'
import { waitSession } from './rpc/session/wait-session.ts'
import { getSessionStats } from './rpc/stats/get-session-stats.ts'
import { exportSession } from './rpc/transfer/export-session.ts'
import { importSession } from './rpc/transfer/import-session.ts'
import type { EventHub } from './run/events/event-hub.ts'
import type { Remover } from './run/lifetime/remover.ts'
import type { PromptHooks } from './run/prompt-hooks.ts'
import type { SessionWatchers } from './run/session-watchers.ts'
import type { Titles } from './run/titles/titles.ts'

/** What the handlers need. */
export interface HandlerDependencies {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly hub: EventHub
  readonly watchers: SessionWatchers
  readonly remover: Remover
  readonly titles: Pick<Titles, 'find' | 'underWay'>
  readonly health: StoreHealth
  readonly clock: Clock
  readonly logger: Logger
  readonly promptHooks: PromptHooks
}

/** The routes of the session service. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const session = route(SessionService, {
    createSession: createSession(dependencies),
    getSession: getSession(dependencies),
    listSessions: listSessions(dependencies),
    getSessionStats: getSessionStats(dependencies),
    removeSession: removeSession(dependencies),
    forkSession: forkSession(dependencies),
    promptSession: promptSession(dependencies),
    addSyntheticInput: addSyntheticInput(dependencies),
    compactSession: compactSession(dependencies),
    listInboxItems: listInboxItems(dependencies),
    changeInboxDelivery: changeInboxDelivery(dependencies),
    cancelInboxItem: cancelInboxItem(dependencies),
    waitSession: waitSession(dependencies),
    interruptSession: interruptSession(dependencies),
    updateSession: updateSession(dependencies),
    viewSession: viewSession(dependencies),
    switchSessionAgent: switchSessionAgent(dependencies),
    switchSessionModel: switchSessionModel(dependencies),
    resumeSession: resumeSession(dependencies),
    moveSession: moveSession(dependencies),
    listActiveSessions: listActiveSessions(dependencies),
    listMessages: listMessages(dependencies),
    getMessage: getMessage(dependencies),
    streamSessionContext: streamSessionContext(dependencies),
    listPermissionRequests: listPermissionRequests(dependencies),
    getPermissionRequest: getPermissionRequest(dependencies),
    reloadLocations: reloadLocations(dependencies),
    replyPermissionRequest: replyPermissionRequest(dependencies),
    listSavedApprovals: listSavedApprovals(dependencies),
    deleteSavedApproval: deleteSavedApproval(dependencies),
    streamEvents: streamEvents(dependencies),
    streamSessionLog: streamSessionLog(dependencies),
    exportSession: exportSession(dependencies),
    importSession: importSession(dependencies),
  })
  return { domain: 'session', reasons, services: [session] }
}

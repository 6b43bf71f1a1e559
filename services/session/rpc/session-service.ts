import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { EventHub } from '../run/events/event-hub.ts'
import { ImportHolds } from '../run/lifetime/import-holds.ts'
import type { Remover } from '../run/lifetime/remover.ts'
import type { PromptHooks } from '../run/prompt-hooks.ts'
import type { SessionWatchers } from '../run/session-watchers.ts'
import type { Titles } from '../run/titles/titles.ts'
import { streamEvents } from './event/stream-events.ts'
import { streamSessionLog } from './event/stream-session-log.ts'
import { addSyntheticInput } from './inbox/add-synthetic-input.ts'
import { cancelInboxItem } from './inbox/cancel-inbox-item.ts'
import { changeInboxDelivery } from './inbox/change-inbox-delivery.ts'
import { compactSession } from './inbox/compact-session.ts'
import { listInboxItems } from './inbox/list-inbox-items.ts'
import { promptSession } from './inbox/prompt-session.ts'
import { getMessage } from './message/get-message.ts'
import { listMessages } from './message/list-messages.ts'
import { streamSessionContext } from './message/stream-session-context.ts'
import { deleteSavedApproval } from './permission/delete-saved-approval.ts'
import { getPermissionRequest } from './permission/get-permission-request.ts'
import { listPermissionRequests } from './permission/list-permission-requests.ts'
import { listSavedApprovals } from './permission/list-saved-approvals.ts'
import { reloadLocations } from './permission/reload-locations.ts'
import { replyPermissionRequest } from './permission/reply-permission-request.ts'
import { createSession } from './session/create-session.ts'
import { forkSession } from './session/fork-session.ts'
import { getSession } from './session/get-session.ts'
import { interruptSession } from './session/interrupt-session.ts'
import { listActiveSessions } from './session/list-active-sessions.ts'
import { listSessions } from './session/list-sessions.ts'
import { moveSession } from './session/move-session.ts'
import { removeSession } from './session/remove-session.ts'
import { resumeSession } from './session/resume-session.ts'
import { switchSessionAgent } from './session/switch-session-agent.ts'
import { switchSessionModel } from './session/switch-session-model.ts'
import { updateSession } from './session/update-session.ts'
import { viewSession } from './session/view-session.ts'
import { waitSession } from './session/wait-session.ts'
import { getSessionStats } from './stats/get-session-stats.ts'
import { abandonSessionImport } from './transfer/abandon-session-import.ts'
import { appendImportedMessages } from './transfer/append-imported-messages.ts'
import { beginSessionImport } from './transfer/begin-session-import.ts'
import { commitSessionImport } from './transfer/commit-session-import.ts'
import { exportSession } from './transfer/export-session.ts'
import { putImportedContent } from './transfer/put-imported-content.ts'

/** What the handlers need. */
export interface SessionDependencies {
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

/** The handlers of sessions. */
export function sessionService(dependencies: SessionDependencies): ServiceImpl<typeof SessionService> {
  const imports = { ...dependencies, importHolds: new ImportHolds(dependencies.blobs) }
  return {
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
    beginSessionImport: beginSessionImport(dependencies),
    putImportedContent: putImportedContent(imports),
    appendImportedMessages: appendImportedMessages(dependencies),
    commitSessionImport: commitSessionImport(imports),
    abandonSessionImport: abandonSessionImport(imports),
  }
}

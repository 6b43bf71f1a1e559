import { getAgent, listAgents } from './catalog/agent.ts'
import { getLocation, reloadLocations } from './catalog/location.ts'
import { listMcpServers } from './catalog/mcp.ts'
import { checkPlugins, listPlugins, updatePlugins } from './catalog/plugin.ts'
import { getProvider, listModels, listProviders } from './catalog/provider.ts'
import { listSkills } from './catalog/skill.ts'
import { readSessionLog, subscribeToEvents } from './event/operations.ts'
import type { Operation } from './operation.ts'
import { getHealth, getInfo, getLiveness, getOpenapi, getReadiness } from './server/operations.ts'
import { switchAgent, switchModel, updateSession, viewSession } from './session/change-operations.ts'
import { getContext, getMessage, listMessages } from './session/history.ts'
import { addSynthetic, cancelInboxItem, compactSession, listInboxItems, updateInboxItem } from './session/inbox.ts'
import {
  createSession,
  forkSession,
  getSession,
  listActiveSessions,
  listSessions,
  moveSession,
  removeSession,
} from './session/operations.ts'
import {
  getSessionPermission,
  listPermissionRequests,
  listSavedPermissions,
  listSessionPermissions,
  removeSavedPermission,
  replyToSessionPermission,
} from './session/permission.ts'
import { interruptSession, promptSession, resumeSession, waitForSession, waitForSessionOf1x } from './session/prompt.ts'
import { getSessionStats } from './session/stats.ts'
import { exportSession, importSession } from './session/transfer/operations.ts'

/**
 * The operations of `/api`, as the server registers them. Paths are tried in this order: those that are called most
 * come first, and `active` before what takes any session id.
 */
export const OPERATIONS: readonly Operation[] = [
  ...[listSessions, createSession, listActiveSessions, getSession, switchAgent, switchModel, moveSession],
  ...[forkSession, removeSession],
  ...[updateSession, viewSession],
  ...[promptSession, interruptSession, resumeSession, waitForSession, waitForSessionOf1x],
  getSessionStats,
  ...[listMessages, getMessage, getContext],
  ...[addSynthetic, compactSession, listInboxItems, updateInboxItem, cancelInboxItem],
  ...[subscribeToEvents, readSessionLog],
  ...[exportSession, importSession],
  ...[listPermissionRequests, listSessionPermissions, getSessionPermission, replyToSessionPermission],
  ...[listSavedPermissions, removeSavedPermission],
  ...[listAgents, getAgent, listSkills, listMcpServers, listPlugins],
  ...[getLocation, reloadLocations],
  ...[listModels, listProviders, getProvider],
  ...[checkPlugins, updatePlugins],
  ...[getInfo, getHealth],
]

/** Operations that report on the server itself, and need no credentials. */
export const PROBES: readonly Operation[] = [getLiveness, getReadiness, getOpenapi]

import { getAgent, listAgents } from './agent/operations.ts'
import { readSessionLog, subscribeToEvents } from './event/operations.ts'
import { getContext, getMessage, listMessages } from './history/operations.ts'
import { addSynthetic, cancelInboxItem, compactSession, listInboxItems, updateInboxItem } from './inbox/operations.ts'
import { getLocation, reloadLocations } from './location/operations.ts'
import { listMcpServers } from './mcp/operations.ts'
import type { Operation } from './operation.ts'
import {
  getSessionPermission,
  listPermissionRequests,
  listSavedPermissions,
  listSessionPermissions,
  removeSavedPermission,
  replyToSessionPermission,
} from './permission/operations.ts'
import { listPlugins } from './plugin/operations.ts'
import { checkPlugins, updatePlugins } from './plugin/package-operations.ts'
import {
  interruptSession,
  promptSession,
  resumeSession,
  waitForSession,
  waitForSessionOf1x,
} from './prompt/operations.ts'
import { getProvider, listModels, listProviders } from './provider/operations.ts'
import { getHealth, getInfo, getLiveness, getOpenapi, getReadiness } from './server/operations.ts'
import { switchAgent, switchModel, updateSession, viewSession } from './session/change-operations.ts'
import {
  createSession,
  forkSession,
  getSession,
  listActiveSessions,
  listSessions,
  moveSession,
  removeSession,
} from './session/operations.ts'
import { exportSession, importSession } from './session/transfer/operations.ts'
import { listSkills } from './skill/operations.ts'
import { getSessionStats } from './stats/operations.ts'

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

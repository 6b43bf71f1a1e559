import { getAgent, listAgents } from '../catalog/agent.ts'
import { getLocation, reloadLocations } from '../catalog/location.ts'
import { listMcpServers } from '../catalog/mcp.ts'
import { checkPlugins, listPlugins, updatePlugins } from '../catalog/plugin.ts'
import { getProvider, listModels, listProviders } from '../catalog/provider.ts'
import { listSkills } from '../catalog/skill.ts'
import { createChatCompletion } from '../chat/operations.ts'
import { readSessionLog, subscribeToEvents } from '../event/operations.ts'
import { listAuditEntries } from '../federation/audit/operations.ts'
import { createIssuer, deleteIssuer, getIssuer, listIssuers, updateIssuer } from '../federation/issuer/operations.ts'
import { createPolicy, deletePolicy, getPolicy, listPolicies, updatePolicy } from '../federation/policy/operations.ts'
import {
  addPolicyCheck,
  pausePolicy,
  removePolicyCheck,
  resumePolicy,
  testPolicy,
} from '../federation/policy/state-operations.ts'
import { createKey, deleteKey, getKey, getOwnKey, listKeys, updateKey } from '../keys/operations.ts'
import { countMessageTokens, createMessage } from '../messages/operations.ts'
import {
  countModels,
  getModel,
  listEndpoints,
  listModels as listGatewayModels,
  listGatewayProviders,
  listUserModels,
  retrieveModel,
  retrieveModelById,
} from '../models/operations.ts'
import { exchangeToken, getServerMetadata, listSigningKeys } from '../oauth/operations.ts'
import type { Operation } from '../operation.ts'
import { createPresetFromChat, createPresetFromMessages, createPresetFromResponse } from '../presets/create.ts'
import { getPreset, getPresetVersion, listPresets, listPresetVersions } from '../presets/operations.ts'
import { createResponse } from '../responses/operations.ts'
import { getHealth, getInfo, getLiveness, getOpenapi, getReadiness } from '../server/operations.ts'
import { switchAgent, switchModel, updateSession, viewSession } from '../session/change-operations.ts'
import { getContext, getMessage, listMessages } from '../session/history.ts'
import { addSynthetic, cancelInboxItem, compactSession, listInboxItems, updateInboxItem } from '../session/inbox.ts'
import {
  createSession,
  forkSession,
  getSession,
  listActiveSessions,
  listSessions,
  moveSession,
  removeSession,
} from '../session/operations.ts'
import {
  getSessionPermission,
  listPermissionRequests,
  listSavedPermissions,
  listSessionPermissions,
  removeSavedPermission,
  replyToSessionPermission,
} from '../session/permission.ts'
import {
  interruptSession,
  promptSession,
  resumeSession,
  waitForSession,
  waitForSessionOf1x,
} from '../session/prompt.ts'
import { getSessionStats } from '../session/stats.ts'
import { exportSession, importSession } from '../session/transfer/operations.ts'
import { getCredits, getGeneration, listActivity } from '../usage/operations.ts'

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
const PROBES: readonly Operation[] = [getLiveness, getReadiness, getOpenapi]

/**
 * The operations of `/api/v1`, and of what else clients of it read, as the server registers them. Paths are tried in
 * this order: `count` and `user` before what takes any model id.
 */
export const V1_OPERATIONS: readonly Operation[] = [
  ...[createResponse, createChatCompletion, createMessage, countMessageTokens],
  ...[createPresetFromChat, createPresetFromMessages, createPresetFromResponse],
  ...[listPresets, getPreset, listPresetVersions, getPresetVersion],
  ...[getGeneration, listActivity, getCredits],
  ...[listGatewayModels, countModels, listUserModels, listEndpoints, getModel, listGatewayProviders],
  ...[retrieveModel, retrieveModelById],
  ...[getOwnKey, listKeys, createKey, getKey, updateKey, deleteKey],
  ...[exchangeToken, listSigningKeys, getServerMetadata],
  ...[listIssuers, createIssuer, getIssuer, updateIssuer, deleteIssuer],
  ...[testPolicy, listPolicies, createPolicy, getPolicy, updatePolicy, deletePolicy],
  ...[pausePolicy, resumePolicy, addPolicyCheck, removePolicyCheck],
  listAuditEntries,
]

/** Every operation that is served: the OpenAPI document, and what the tests walk. */
export const ALL_OPERATIONS: readonly Operation[] = [...OPERATIONS, ...V1_OPERATIONS, ...PROBES]

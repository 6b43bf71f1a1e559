import { getAgent, listAgents } from './agent/operations.ts'
import { createChatCompletion } from './chat/operations.ts'
import { readSessionLog, subscribeToEvents } from './event/operations.ts'
import { listAuditEntries } from './federation/audit-operations.ts'
import { createIssuer, deleteIssuer, getIssuer, listIssuers, updateIssuer } from './federation/issuer-operations.ts'
import { createPolicy, deletePolicy, getPolicy, listPolicies, updatePolicy } from './federation/policy-operations.ts'
import { addPolicyCheck, pausePolicy, removePolicyCheck, resumePolicy } from './federation/policy-state-operations.ts'
import { testPolicy } from './federation/test-policy.ts'
import { addSynthetic, cancelInboxItem, compactSession, listInboxItems, updateInboxItem } from './inbox/operations.ts'
import { createKey, deleteKey, getKey, getOwnKey, listKeys, updateKey } from './keys/operations.ts'
import { getLocation, reloadLocations } from './location/operations.ts'
import { listMcpServers } from './mcp/operations.ts'
import { getContext, getMessage, listMessages } from './message/operations.ts'
import { countMessageTokens, createMessage } from './messages/operations.ts'
import { getProvider, listModels, listProviders } from './model/operations.ts'
import {
  countModels,
  getModel,
  listEndpoints,
  listModels as listGatewayModels,
  listGatewayProviders,
  listUserModels,
  retrieveModel,
  retrieveModelById,
} from './models/operations.ts'
import { exchangeToken, getServerMetadata, listSigningKeys } from './oauth/operations.ts'
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
  createPresetFromChat,
  createPresetFromMessages,
  createPresetFromResponse,
} from './presets/create-operations.ts'
import { getPreset, getPresetVersion, listPresets, listPresetVersions } from './presets/operations.ts'
import {
  interruptSession,
  promptSession,
  resumeSession,
  waitForSession,
  waitForSessionOf1x,
} from './prompt/operations.ts'
import { createResponse } from './responses/operations.ts'
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
import { getCredits, getGeneration, listActivity } from './usage/operations.ts'

/**
 * Every operation that is served: the route table, the OpenAPI document, and what the tests walk. Paths are tried in this order:
 * those that are called most come first, and `active` before what takes any session id, and `count` and `user` before what takes any model id.
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
  ...[getLiveness, getReadiness, getOpenapi],
]

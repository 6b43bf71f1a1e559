import { createChatCompletion } from './chat/operations.ts'
import { listAuditEntries } from './federation/audit/operations.ts'
import { createIssuer, deleteIssuer, getIssuer, listIssuers, updateIssuer } from './federation/issuer/operations.ts'
import { createPolicy, deletePolicy, getPolicy, listPolicies, updatePolicy } from './federation/policy/operations.ts'
import { addPolicyCheck, pausePolicy, removePolicyCheck, resumePolicy } from './federation/policy/state-operations.ts'
import { testPolicy } from './federation/policy/test-operation.ts'
import { createKey, deleteKey, getKey, getOwnKey, listKeys, updateKey } from './keys/operations.ts'
import { countMessageTokens, createMessage } from './messages/operations.ts'
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
  createPresetFromChat,
  createPresetFromMessages,
  createPresetFromResponse,
} from './presets/create-operations.ts'
import { getPreset, getPresetVersion, listPresets, listPresetVersions } from './presets/operations.ts'
import { createResponse } from './responses/operations.ts'
import { getCredits, getGeneration, listActivity } from './usage/operations.ts'

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

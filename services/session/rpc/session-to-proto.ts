import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type ModelRef as ModelRefMessage,
  type ModelRefSchema,
  PermissionRule_Effect,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  Delivery,
  Outcome,
  type PermissionRequestSchema,
  type PermissionRuleset,
  type SessionSchema,
  type TokenUsageSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type { Effect, PermissionRequest, PermissionRule } from '../domain/permission.ts'
import type { ModelRef, Session, TokenUsage } from '../domain/session.ts'
import { invalid } from './parse.ts'

const MAX_RULES = 1_000
const MAX_RULE_LENGTH = 4_096
const MAX_MODEL_LENGTH = 256

/** How outcomes are named between services; `undefined` is a session that has not ended a run. */
export const OUTCOMES = {
  succeeded: Outcome.SUCCEEDED,
  failed: Outcome.FAILED,
  interrupted: Outcome.INTERRUPTED,
} as const

/** How deliveries are named between services. */
export const DELIVERIES = { steer: Delivery.STEER, queue: Delivery.QUEUE } as const

const EFFECTS = {
  allow: PermissionRule_Effect.ALLOW,
  deny: PermissionRule_Effect.DENY,
  ask: PermissionRule_Effect.ASK,
} as const

/** A session as other services see it. */
export function sessionToProto(session: Session): MessageInitShape<typeof SessionSchema> {
  const { title, model, metadata, permissions, outcome, timeIdle } = session
  return {
    sessionId: session.id,
    parentId: session.parentId ?? '',
    agent: session.agent ?? '',
    directory: session.location.directory,
    projectId: session.location.projectId,
    subpath: session.location.subpath,
    costNanos: session.costNanos,
    tokens: tokensToProto(session.tokens),
    outcome: outcome === undefined ? Outcome.UNSPECIFIED : OUTCOMES[outcome],
    createTime: timestampFromMs(session.timeCreated),
    updateTime: timestampFromMs(session.timeUpdated),
    ...(title === undefined ? {} : { title }),
    ...(model === undefined ? {} : { model: modelToProto(model) }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(permissions === undefined ? {} : { permissions: { rules: permissions.map(ruleToProto) } }),
    ...(timeIdle === undefined ? {} : { idleTime: timestampFromMs(timeIdle) }),
  }
}

/** Token counts as other services see them. */
export function tokensToProto(tokens: TokenUsage): MessageInitShape<typeof TokenUsageSchema> {
  return {
    input: BigInt(tokens.input),
    output: BigInt(tokens.output),
    reasoning: BigInt(tokens.reasoning),
    cacheRead: BigInt(tokens.cacheRead),
    cacheWrite: BigInt(tokens.cacheWrite),
  }
}

/** A model's name as other services see it. */
export function modelToProto(model: ModelRef): MessageInitShape<typeof ModelRefSchema> {
  return { providerId: model.providerId, modelId: model.modelId, variant: model.variant }
}

/** A model's name as it came; its parts have at most 256 characters, and only the variant may be empty. */
export function parseModel(model: ModelRefMessage): ModelRef {
  const { providerId, modelId, variant } = model
  const usable = (part: string): boolean => part.length > 0 && part.length <= MAX_MODEL_LENGTH
  if (!usable(providerId) || !usable(modelId) || variant.length > MAX_MODEL_LENGTH) {
    throw invalid('model', `must name a provider and a model of 1 to ${MAX_MODEL_LENGTH} characters`)
  }
  return { providerId, modelId, variant }
}

/** The rules of a session as they came; undefined when none were given. */
export function parseRules(ruleset: PermissionRuleset | undefined): readonly PermissionRule[] | undefined {
  if (ruleset === undefined) return undefined
  if (ruleset.rules.length > MAX_RULES) throw invalid('permissions', `must be at most ${MAX_RULES} rules`)
  return ruleset.rules.map(({ action, resource, effect }) => {
    if (action.length > MAX_RULE_LENGTH || resource.length > MAX_RULE_LENGTH) {
      throw invalid('permissions', `patterns must have at most ${MAX_RULE_LENGTH} characters`)
    }
    return { action, resource, effect: parseEffect(effect) }
  })
}

/** A permission request as other services see it. */
export function permissionRequestToProto(request: PermissionRequest): MessageInitShape<typeof PermissionRequestSchema> {
  return {
    requestId: request.id,
    sessionId: request.sessionId,
    action: request.action,
    resources: [...request.resources],
    savePatterns: [...request.savePatterns],
    messageId: request.messageId,
    callId: request.callId,
    createTime: timestampFromMs(request.timeCreated),
    expireTime: timestampFromMs(request.timeExpires),
  }
}

function ruleToProto({ action, resource, effect }: PermissionRule) {
  return { action, resource, effect: EFFECTS[effect] }
}

function parseEffect(effect: PermissionRule_Effect): Effect {
  switch (effect) {
    case PermissionRule_Effect.ALLOW:
      return 'allow'
    case PermissionRule_Effect.DENY:
      return 'deny'
    case PermissionRule_Effect.ASK:
      return 'ask'
    default:
      throw invalid('permissions', 'each rule must have an effect')
  }
}

import type { Timestamp } from '@bufbuild/protobuf/wkt'
import {
  type ModelRef as ModelRefMessage,
  PermissionRule_Effect as RuleEffect,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  Outcome as OutcomeMessage,
  type PermissionRuleset,
  type Session as SessionMessage,
  type TokenUsage as TokenUsageMessage,
} from '#gen/portico/session/v1/session_pb.js'
import type { PermissionRule } from '../domain/permission.ts'
import type { ModelRef, Outcome, Session, TokenUsage } from '../domain/session.ts'

// These messages are written out whole instead of made by `create`: sessions are read more often than anything else.

const OUTCOMES: Readonly<Record<Outcome, OutcomeMessage>> = {
  succeeded: OutcomeMessage.SUCCEEDED,
  failed: OutcomeMessage.FAILED,
  interrupted: OutcomeMessage.INTERRUPTED,
}

const EFFECTS = { allow: RuleEffect.ALLOW, deny: RuleEffect.DENY, ask: RuleEffect.ASK } as const

/** A session as a message. */
export function toSession(session: Session): SessionMessage {
  const { location, model, permissions, timeIdle } = session
  return {
    $typeName: 'portico.session.v1.Session',
    sessionId: session.id,
    title: session.title,
    agent: session.agent ?? '',
    model: model && toModelRef(model),
    directory: location.directory,
    projectId: location.projectId,
    subpath: location.subpath,
    metadata: session.metadata,
    permissions: permissions && toRuleset(permissions),
    costNanos: session.costNanos,
    tokens: toTokenUsage(session.tokens),
    outcome: toOutcome(session.outcome),
    createTime: toTimestamp(session.timeCreated),
    updateTime: toTimestamp(session.timeUpdated),
    idleTime: timeIdle === undefined ? undefined : toTimestamp(timeIdle),
    parentId: session.parentId ?? '',
  }
}

/** Milliseconds since the epoch as a message. */
export function toTimestamp(milliseconds: number): Timestamp {
  const seconds = Math.floor(milliseconds / 1_000)
  const nanos = Math.round((milliseconds - seconds * 1_000) * 1e6)
  return { $typeName: 'google.protobuf.Timestamp', seconds: BigInt(seconds), nanos }
}

/** The same, absent for what has not happened. */
export function toOptionalTimestamp(milliseconds: number | undefined): Timestamp | undefined {
  return milliseconds === undefined ? undefined : toTimestamp(milliseconds)
}

/** A reference to a model as a message. */
export function toModelRef({ providerId, modelId, variant }: ModelRef): ModelRefMessage {
  return { $typeName: 'portico.catalog.v1.ModelRef', providerId, modelId, variant }
}

/** Tokens by kind as a message. */
export function toTokenUsage({ input, output, reasoning, cacheRead, cacheWrite }: TokenUsage): TokenUsageMessage {
  return {
    $typeName: 'portico.session.v1.TokenUsage',
    input: BigInt(input),
    output: BigInt(output),
    reasoning: BigInt(reasoning),
    cacheRead: BigInt(cacheRead),
    cacheWrite: BigInt(cacheWrite),
  }
}

/** An outcome as a message's value; unspecified before the first end of a run. */
export function toOutcome(outcome: Outcome | undefined): OutcomeMessage {
  return outcome === undefined ? OutcomeMessage.UNSPECIFIED : OUTCOMES[outcome]
}

function toRuleset(rules: readonly PermissionRule[]): PermissionRuleset {
  return {
    $typeName: 'portico.session.v1.PermissionRuleset',
    rules: rules.map(({ action, resource, effect }) => ({
      $typeName: 'portico.catalog.v1.PermissionRule',
      action,
      resource,
      effect: EFFECTS[effect],
    })),
  }
}

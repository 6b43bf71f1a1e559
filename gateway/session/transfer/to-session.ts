import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import { toStruct } from '#gateway/records/free.ts'
import { toModelRef } from '#gateway/records/model.ts'
import { outcomes } from '#gateway/records/outcome.ts'
import { toRuleset } from '#gateway/records/ruleset.ts'
import type { tokenUsage } from '#gateway/records/usage.ts'
import type { SessionSchema, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import type { ImportedInfo } from './schemas.ts'

export function toImportedSession(info: ImportedInfo): MessageInitShape<typeof SessionSchema> {
  const { id, parentID, title, agent, model, metadata, permissions, cost, tokens, time, outcome } = info
  return {
    sessionId: id,
    parentId: parentID,
    agent: agent || undefined,
    costNanos: toNanos(cost),
    tokens: toTokens(tokens),
    createTime: time.created,
    title,
    model: model && toModelRef(model),
    metadata: metadata && toStruct(metadata),
    permissions: permissions && { rules: toRuleset(permissions) },
    idleTime: time.idle,
    viewTime: time.viewed,
    archiveTime: time.archived,
    outcome: outcome && outcomes.toProto(outcome),
  }
}

export function toNanos(dollars: number | undefined): bigint | undefined {
  return dollars === undefined ? undefined : BigInt(Math.round(dollars * 1e9))
}

export function toTokens({ cache, ...usage }: z.output<typeof tokenUsage>): MessageInitShape<typeof TokenUsageSchema> {
  return { ...usage, cacheRead: cache.read, cacheWrite: cache.write }
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import { toStruct } from '#gateway/records/free.ts'
import { toModelRef } from '#gateway/records/model.ts'
import { outcomes } from '#gateway/records/outcome.ts'
import { toRuleset } from '#gateway/records/ruleset.ts'
import { toTime } from '#gateway/records/time.ts'
import type { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import type { ImportedInfo } from './schemas.ts'
import { toCost, toTokens } from './to-values.ts'

/** What is kept of the session of an import (instance facts 3.7). */
export function toImportedSession(info: ImportedInfo): MessageInitShape<typeof SessionSchema> {
  const { id, parentID, title, agent, model, metadata, permissions, cost, tokens, time, outcome } = info
  return {
    sessionId: id,
    parentId: parentID,
    agent: agent || undefined,
    ...toCost(cost),
    tokens: toTokens(tokens),
    createTime: toTime(time.created),
    ...(title === undefined ? {} : { title }),
    ...(model === undefined ? {} : { model: toModelRef(model) }),
    ...(metadata === undefined ? {} : { metadata: toStruct(metadata) }),
    ...(permissions === undefined ? {} : { permissions: { rules: toRuleset(permissions) } }),
    ...(time.idle === undefined ? {} : { idleTime: toTime(time.idle) }),
    ...(time.viewed === undefined ? {} : { viewTime: toTime(time.viewed) }),
    ...(time.archived === undefined ? {} : { archiveTime: toTime(time.archived) }),
    ...(outcome === undefined ? {} : { outcome: outcomes.toProto(outcome) }),
  }
}

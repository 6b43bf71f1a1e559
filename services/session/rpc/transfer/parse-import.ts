import type { Session as SessionMessage } from '#gen/portico/session/v1/session_pb.js'
import type { ImportedSession } from '#services/session/domain/lifetime/imported-session.ts'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import { check } from '#shared/rpc/parse.ts'
import { outcomes } from '../enums.ts'
import { parseAgentName, parseMetadata, parseModel, parseRules, parseSessionId, parseTitle } from '../parse.ts'
import { timeFromProto } from './content-from-proto.ts'
import { costFromProto, requireTime, tokensFromProto } from './message-from-proto.ts'

/** The parts of an imported session that are stored. */
export function parseImportedSession(given: SessionMessage | undefined): ImportedSession {
  check(given !== undefined, 'session', 'is required')
  const { title, agent, model, parentId, costNanos, tokens } = given
  const timeIdle = timeFromProto(given.idleTime)
  const viewed = timeFromProto(given.viewTime)
  return {
    id: parseSessionId(given.sessionId),
    parentId: parentId === undefined ? undefined : parseSessionId(parentId),
    title: title === undefined ? undefined : parseTitle(title),
    agent: agent === undefined ? undefined : parseAgentName('agent', agent),
    model: model === undefined ? undefined : parseModel(model),
    metadata: parseMetadata(given.metadata),
    permissions: parseRules(given.permissions),
    costNanos: costFromProto(costNanos),
    tokens: tokens === undefined ? NO_TOKENS : tokensFromProto(tokens),
    // Only if its time is known (instance facts 3.7).
    outcome: timeIdle === undefined ? undefined : outcomes.fromProto(given.outcome),
    timeCreated: requireTime(given.createTime),
    timeIdle,
    timeViewed: timeIdle === undefined || viewed === undefined ? undefined : Math.min(viewed, timeIdle),
    timeArchived: timeFromProto(given.archiveTime),
  }
}

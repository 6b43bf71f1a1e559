import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type {
  CreateSessionRequestSchema,
  ListSessionsRequestSchema,
  MoveSessionRequestSchema,
  UpdateSessionRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromFork } from '../records/fork.ts'
import { toStruct } from '../records/free.ts'
import { fromModelRef, toModelRef } from '../records/model.ts'
import { fromOutcome } from '../records/outcome.ts'
import { toOrder, toPageSize } from '../records/page.ts'
import { toDelivery } from '../records/prompt.ts'
import { fromRuleset, toRuleset } from '../records/ruleset.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import type { createSessionBody, listSessionsQuery, moveBody, sessionInfo, updateSessionBody } from './schemas.ts'

/** `newId` is taken when the body has none; minted here, so that a repeated call makes no second session. */
export function toCreateSession(
  body: z.output<typeof createSessionBody>,
  directory: () => string | undefined,
  newId: () => string,
): MessageInitShape<typeof CreateSessionRequestSchema> {
  return {
    sessionId: body.id ?? newId(),
    agent: body.agent ?? undefined,
    directory: body.location?.directory ?? directory(),
    title: body.title ?? undefined,
    model: body.model == null ? undefined : toModelRef(body.model),
    metadata: body.metadata == null ? undefined : toStruct(body.metadata),
    permissions: body.permissions == null ? undefined : { rules: toRuleset(body.permissions) },
  }
}

/** The id is minted here, so that a repeated call admits no second move. */
export function toMoveSession(
  sessionId: string,
  { directory, delivery }: z.output<typeof moveBody>,
  newId: () => string,
): MessageInitShape<typeof MoveSessionRequestSchema> {
  return { sessionId, messageId: newId(), directory, delivery: delivery == null ? undefined : toDelivery(delivery) }
}

export function toUpdateSession(
  sessionId: string,
  { title, metadata, permissions }: z.output<typeof updateSessionBody>,
): MessageInitShape<typeof UpdateSessionRequestSchema> {
  const changes = {
    ...(title == null ? {} : { title }),
    ...(metadata == null ? {} : { metadata: toStruct(metadata) }),
    ...(permissions == null ? {} : { permissions: { rules: toRuleset(permissions) } }),
  }
  return { sessionId, ...changes, updateMask: { paths: Object.keys(changes) } }
}

export function toListSessions({
  limit,
  ...query
}: z.output<typeof listSessionsQuery>): MessageInitShape<typeof ListSessionsRequestSchema> {
  const { order, cursor, parentID, project, subpath, search, directory } = query
  return {
    pageSize: toPageSize(limit),
    pageToken: cursor,
    search,
    directory,
    projectId: project,
    subpath,
    order: order && toOrder(order),
    ...(parentID === 'null' ? { rootsOnly: true } : { parentId: parentID }),
  }
}

export function fromSession(session: Session | undefined): JsonOf<typeof sessionInfo> {
  if (session === undefined) throw new Error('The session service returned no session')
  return {
    id: session.sessionId,
    parentID: session.parentId,
    fork: session.fork && fromFork(session.fork),
    projectID: session.projectId,
    agent: session.agent,
    model: fromModelRef(session.model),
    cost: fromCost(session.costNanos),
    tokens: fromTokenUsage(session.tokens),
    outcome: fromOutcome(session.outcome),
    time: {
      created: session.createTime,
      updated: session.updateTime,
      idle: session.idleTime,
      viewed: session.viewTime,
      archived: session.archiveTime,
    },
    title: session.title,
    location: { directory: session.directory },
    subpath: session.subpath,
    metadata: session.metadata,
    permissions: session.permissions === undefined ? undefined : fromRuleset(session.permissions.rules),
  }
}

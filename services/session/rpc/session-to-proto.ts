import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { Session as SessionMessage } from '#gen/portico/session/v1/session_pb.js'
import type { Session } from '../domain/session.ts'

/** A session as other services see it. Written out whole instead of made by `create`: nothing is read more often. */
export function sessionToProto(session: Session): SessionMessage {
  const { model, permissions, outcome, timeIdle, timeViewed, timeArchived } = session
  return {
    $typeName: 'portico.session.v1.Session',
    sessionId: session.id,
    title: session.title,
    agent: session.agent,
    model,
    directory: session.location.directory,
    projectId: session.location.projectId,
    subpath: session.location.subpath,
    metadata: session.metadata,
    permissions,
    costNanos: session.costNanos,
    tokens: session.tokens,
    outcome,
    createTime: timeToProto(session.timeCreated),
    updateTime: timeToProto(session.timeUpdated),
    idleTime: timeIdle === undefined ? undefined : timeToProto(timeIdle),
    parentId: session.parentId,
    fork: session.fork,
    viewTime: timeViewed === undefined ? undefined : timeToProto(timeViewed),
    archiveTime: timeArchived === undefined ? undefined : timeToProto(timeArchived),
  }
}

function timeToProto(milliseconds: number): Timestamp {
  const seconds = Math.floor(milliseconds / 1_000)
  const nanos = (milliseconds - seconds * 1_000) * 1_000_000
  return { $typeName: 'google.protobuf.Timestamp', seconds: BigInt(seconds), nanos }
}

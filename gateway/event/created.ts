import type { SessionCreated } from '#gen/portico/session/v1/event_pb.js'
import { fromModelRef } from '../records/model.ts'
import { fromRuleset } from '../records/ruleset.ts'

/** Version of the event shapes, as durable events carry it. */
export const EVENT_VERSION = 1

/** A session as it was created. */
export function fromCreated({ session: made }: SessionCreated) {
  if (made === undefined) throw new Error('An event has no content')
  const session = made
  return {
    projectID: session.projectId,
    location: { directory: session.directory },
    subpath: session.subpath,
    parentID: session.parentId,
    slug: session.sessionId,
    title: session.title,
    agent: session.agent,
    model: fromModelRef(session.model),
    metadata: session.metadata,
    permissions: session.permissions === undefined ? undefined : fromRuleset(session.permissions.rules),
    version: String(EVENT_VERSION),
  }
}

import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { DurableEvent, VolatileEvent } from '#services/session/domain/event.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { EventHub } from '#services/session/run/events/event-hub.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { findContents } from '../blob-contents.ts'
import { blobsOfEvent, eventToProto } from './event-to-proto.ts'

const MISSED = create(EventsMissedSchema)

/** Streams events of the principal's workspace, until the caller leaves or the server stops (SERVICE_CLOSING). */
export function streamEvents(dependencies: {
  readonly blobs: BlobStore
  readonly hub: EventHub
}): ServiceImpl<typeof SessionService>['streamEvents'] {
  const { hub } = dependencies
  const encode = sharedEncoder(dependencies.blobs)
  return async function* ({ position, sessionId, directory }, context) {
    const { workspaceId } = principalOf(context)
    const draining = drainSignalOf(context)
    const signal = AbortSignal.any([context.signal, draining])
    for await (const item of hub.subscribe(workspaceId, position, signal, { sessionId, directory })) {
      if (item.type === 'ready') yield { message: { case: 'connected', value: { position: item.position } } }
      else if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
      else if (item.type === 'caught-up') yield { message: { case: 'caughtUp', value: { position: item.position } } }
      else {
        const value = await encode(item.event)
        if (value !== undefined) yield { message: { case: 'event', value } }
      }
    }
    draining.throwIfAborted()
  }
}

/**
 * Makes the message of each event once for all streams; undefined if its content was removed with its session. An event
 * with files gets a message for each stream: their content is not to be kept for as long as the event.
 */
function sharedEncoder(blobs: BlobStore): (event: DurableEvent | VolatileEvent) => Promise<SessionEvent | undefined> {
  const known = new WeakMap<object, SessionEvent>()
  return async (event) => {
    const made = known.get(event)
    if (made !== undefined) return made
    const refs = blobsOfEvent(event)
    const { contents, missing } = await findContents(blobs, event.workspace, refs)
    if (missing !== undefined) return undefined
    const message = eventToProto(event, contents)
    if (refs.length === 0) known.set(event, message)
    return message
  }
}

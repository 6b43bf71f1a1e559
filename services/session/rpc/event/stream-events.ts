import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { EventHub } from '#services/session/run/events/event-hub.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { readContents } from '../blob-contents.ts'
import { blobsOfEvent, eventToProto } from './event-to-proto.ts'

const MISSED = create(EventsMissedSchema)

/** Streams the events of the principal's workspace, until the caller leaves or the server stops (SERVICE_CLOSING). */
export function streamEvents(dependencies: {
  readonly blobs: BlobStore
  readonly hub: EventHub
}): ServiceImpl<typeof SessionService>['streamEvents'] {
  const { blobs, hub } = dependencies
  return async function* ({ position }, context) {
    const { workspaceId } = principalOf(context)
    const draining = drainSignalOf(context)
    const signal = AbortSignal.any([context.signal, draining])
    for await (const item of hub.subscribe(workspaceId, position === '' ? undefined : position, signal)) {
      if (item.type === 'ready') yield { message: { case: 'connected', value: { position: item.position } } }
      else if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
      else {
        const loaded = await readContents(blobs, workspaceId, blobsOfEvent(item.event))
        yield { message: { case: 'event', value: eventToProto(item.event, loaded) } }
      }
    }
    draining.throwIfAborted()
  }
}

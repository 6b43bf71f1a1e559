import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { EventHub } from '#services/session/run/events/event-hub.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { EventEncoder } from './event-encoder.ts'

const MISSED = create(EventsMissedSchema)

/** Streams events of the principal's workspace, until the caller leaves or the server stops (SERVICE_CLOSING). */
export function streamEvents(dependencies: {
  readonly blobs: BlobStore
  readonly hub: EventHub
}): ServiceImpl<typeof SessionService>['streamEvents'] {
  const { hub } = dependencies
  const encoder = new EventEncoder(dependencies.blobs)
  return async function* ({ position, sessionId, directory }, context) {
    const { workspaceId } = principalOf(context)
    const draining = drainSignalOf(context)
    const signal = AbortSignal.any([context.signal, draining])
    for await (const item of hub.subscribe(workspaceId, position, signal, { sessionId, directory })) {
      if (item.type === 'ready') yield { message: { case: 'connected', value: { position: item.position } } }
      else if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
      else if (item.type === 'caught-up') yield { message: { case: 'caughtUp', value: { position: item.position } } }
      else {
        const value = await encoder.encode(item.event)
        if (value !== undefined) yield { message: { case: 'event', value } }
      }
    }
    draining.throwIfAborted()
  }
}

import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { EventHub } from '#services/session/run/events/event-hub.ts'
import { readSessionLog } from '#services/session/run/events/session-log.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { EventEncoder } from './event-encoder.ts'
import { type AnyEvent, eventToProto } from './event-to-proto.ts'

const MISSED = create(EventsMissedSchema)

/** Streams the log of one session, until its end, or until the caller leaves or the server stops (SERVICE_CLOSING). */
export function streamSessionLog(dependencies: {
  readonly store: Pick<SessionStore, 'listEvents'>
  readonly blobs: BlobStore
  readonly hub: EventHub
}): ServiceImpl<typeof SessionService>['streamSessionLog'] {
  const encoder = new EventEncoder(dependencies.blobs, (event, contents) => eventToProto(unplaced(event), contents))
  return async function* ({ sessionId, afterSeq = 0n, follow }, context) {
    const { workspaceId: workspace } = principalOf(context)
    check(afterSeq >= 0n && afterSeq <= Number.MAX_SAFE_INTEGER, 'after_seq', 'must be the number of an event, or 0')
    const draining = drainSignalOf(context)
    const signal = AbortSignal.any([context.signal, draining])
    const query = { workspace, sessionId, afterSeq: Number(afterSeq), follow }
    for await (const item of readSessionLog(dependencies, query, signal)) {
      if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
      else if (item.type === 'synced')
        yield { message: { case: 'synced', value: { seq: item.seq === undefined ? undefined : BigInt(item.seq) } } }
      else {
        const value = await encoder.encode(item.event)
        if (value !== undefined) yield { message: { case: 'event', value } }
      }
    }
    draining.throwIfAborted()
  }
}

/** Live events have positions in the log of all events. */
function unplaced(event: AnyEvent): AnyEvent {
  if (!('position' in event)) return event
  const { position: _, ...others } = event
  return others
}

import type { MessageInitShape } from '@bufbuild/protobuf'
import type { SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { DurableEventData, VolatileEventData } from '#services/session/domain/event.ts'
import { errorToProto } from '../message/content-to-proto.ts'

type Init = NonNullable<MessageInitShape<typeof SessionEventSchema>['event']>
type CompactionType = `compaction-${'started' | 'extended' | 'ended' | 'failed'}`

/** An event about the summary of a conversation. */
export type CompactionEventData = Extract<DurableEventData | VolatileEventData, { type: CompactionType }>

export function compactionToProto(data: CompactionEventData): Init {
  const { messageId } = data
  switch (data.type) {
    case 'compaction-started':
      return { case: 'compactionStarted', value: { messageId, manual: data.manual, recent: data.recent } }
    case 'compaction-extended':
      return { case: 'compactionExtended', value: { messageId, delta: data.delta } }
    case 'compaction-ended': {
      const { manual, text, recent } = data
      return { case: 'compactionEnded', value: { messageId, manual, text, recent } }
    }
    case 'compaction-failed': {
      const { manual, error } = data
      return { case: 'compactionFailed', value: { messageId, manual, error: errorToProto(error) } }
    }
  }
}

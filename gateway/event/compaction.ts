import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { fromSetError } from '../records/error.ts'
import type { Described } from './described.ts'

type CompactionCase = `compaction${'Started' | 'Extended' | 'Ended' | 'Failed'}`
type CompactionEvent = Extract<SessionEvent['event'], { case: CompactionCase }>

/** An event about the summary of a conversation. */
export function fromCompactionEvent(event: CompactionEvent): Described {
  const { messageId: messageID } = event.value
  switch (event.case) {
    case 'compactionStarted':
      return ['session.compaction.started', { ...begun(event.value), recent: event.value.recent }]
    case 'compactionExtended':
      return ['session.compaction.delta', { messageID, text: event.value.delta }]
    case 'compactionEnded': {
      const { text, recent } = event.value
      return ['session.compaction.ended', { ...begun(event.value), text, recent }]
    }
    case 'compactionFailed':
      return ['session.compaction.failed', { ...begun(event.value), error: fromSetError(event.value.error) }]
  }
}

/** The message of a manual one has the id of its inbox item. */
function begun({ messageId: messageID, manual }: { readonly messageId: string; readonly manual: boolean }) {
  return { messageID, reason: manual ? 'manual' : 'auto', inputID: manual ? messageID : undefined } as const
}

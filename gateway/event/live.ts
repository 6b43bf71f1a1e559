import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { fromRetry } from '../records/error.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import type { Described } from './described.ts'

/**
 * Events that are derived from durable ones and only sent to listeners: whether a session is busy, and what it has
 * used.
 */
export function liveOf({ event }: SessionEvent): Described[] {
  switch (event.case) {
    case 'executionStarted':
      return [['session.status', { status: { type: 'busy' } }]]
    case 'executionEnded':
      return [
        ['session.status', { status: { type: 'idle' } }],
        ['session.idle', {}],
      ]
    case 'retryScheduled': {
      const { retry } = event.value
      if (retry === undefined) return []
      const { attempt, at, error } = fromRetry(retry)
      return [['session.status', { status: { type: 'retry', attempt, message: error.message, next: at } }]]
    }
    case 'stepEnded':
    case 'stepFailed':
    case 'usageRecorded': {
      const { sessionUsage } = event.value
      if (sessionUsage === undefined) return []
      const { costNanos, tokens } = sessionUsage
      return [['session.usage.updated', { cost: fromCost(costNanos), tokens: fromTokenUsage(tokens) }]]
    }
    default:
      return []
  }
}

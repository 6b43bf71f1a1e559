import { z } from 'zod'
import type { ForkOrigin } from '#gen/portico/session/v1/session_pb.js'
import type { JsonOf } from '../kinds.ts'

/** Where the copied history ends: before a message, or with it. */
export const forkBoundary = z.strictObject({ type: z.enum(['before', 'through']), messageID: z.string() })

export const fork = z.strictObject({ sessionID: z.string(), boundary: forkBoundary })

export function fromFork({ sessionId, messageId, through }: ForkOrigin): JsonOf<typeof fork> {
  return { sessionID: sessionId, boundary: { type: through ? 'through' : 'before', messageID: messageId } }
}

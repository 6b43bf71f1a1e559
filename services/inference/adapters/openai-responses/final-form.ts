import { isDeepStrictEqual } from 'node:util'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { GrowingKind } from '#services/inference/domain/parts.ts'
import { unavailable } from '../http/provider-errors.ts'

/**
 * What the final form of a text has beyond what was streamed of it. If the two contradict each other, what was streamed
 * counts, since the client has it; the arguments of a call, which its client is about to run with, are malformed,
 * unless the final form has none.
 */
export function restOf(providerId: string, streamed: string, final: string, kind: GrowingKind): string {
  if (final.startsWith(streamed)) return final.slice(streamed.length)
  if (kind !== Kind.TOOL_CALL) return ''
  const says = final.toWellFormed().trim()
  const said = streamed.toWellFormed().trim()
  if (says === '' || says === '{}' || says === said || isSameJson(says, said)) return ''
  throw unavailable(providerId, 'Its final form of an item contradicts what it streamed')
}

/** Whether two texts are JSON of the same value. */
function isSameJson(one: string, other: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other))
  } catch {
    return false
  }
}

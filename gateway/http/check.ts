import type { z } from 'zod'
import { Rejection } from '#shared/rejection.ts'
import { firstProblem, STOP_AT_FIRST } from './first-problem.ts'

/** Maximum lengths of a member's path and of its problem, in characters: a message with both has at most 1,024. */
const MAX_PATH = 256
const MAX_PROBLEM = 724

/** What part of a request does not fit its schema. */
export type PartReason = 'PATH_INVALID' | 'QUERY_INVALID' | 'HEADER_INVALID' | 'BODY_INVALID'

/**
 * Checks a part of a request against its schema. Rejects with the reason, which names the first offending member; `at`
 * is where the part is.
 */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  reason: PartReason,
  at: readonly PropertyKey[] = [],
): z.output<S> {
  const result = schema.safeParse(value, STOP_AT_FIRST)
  if (result.success) return result.data
  const { path, message } = firstProblem(result.error)
  throw invalidAt([...at, ...path], message, reason)
}

/** Describes the problem of a member in a part of a request. */
export function invalidAt(path: readonly PropertyKey[], problem: string, reason: PartReason): Rejection {
  return new Rejection(reason, {
    field: nameOf(path, reason).slice(0, MAX_PATH),
    problem: problem.slice(0, MAX_PROBLEM),
  })
}

/** In a query the members of an object are written `location[directory]`. */
function nameOf(path: readonly PropertyKey[], reason: PartReason): string {
  if (reason !== 'QUERY_INVALID') return path.join('.')
  return path.map((member, i) => (i === 0 ? String(member) : `[${String(member)}]`)).join('')
}

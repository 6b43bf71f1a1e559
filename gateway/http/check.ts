import type { z } from 'zod'
import { Rejection } from '#shared/rejection.ts'
import { firstProblem, STOP_AT_FIRST } from './first-problem.ts'

/** Longest message about an invalid request, in characters (`contract/instance-facts.md` 2). */
const MESSAGE_LIMIT = 1024

/** What part of a request does not fit its schema. */
export type PartReason = 'PATH_INVALID' | 'QUERY_INVALID' | 'HEADER_INVALID' | 'BODY_INVALID'

/** Checks a part of a request against its schema. Rejects with the reason, which names the first offending member. */
export function check<S extends z.ZodType>(schema: S, value: unknown, reason: PartReason): z.output<S> {
  const result = schema.safeParse(value, STOP_AT_FIRST)
  if (result.success) return result.data
  const { path, message } = firstProblem(result.error)
  throw new Rejection(reason, {
    field: nameOf(path, reason).slice(0, 256),
    problem: message.slice(0, MESSAGE_LIMIT - 300),
  })
}

/** In a query the members of an object are written `location[directory]`. */
function nameOf(path: readonly PropertyKey[], reason: PartReason): string {
  if (reason !== 'QUERY_INVALID') return path.join('.')
  return path.map((member, i) => (i === 0 ? String(member) : `[${String(member)}]`)).join('')
}

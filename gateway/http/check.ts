import type { z } from 'zod'
import { Rejection } from '#shared/rejection.ts'
import { MISSING, schemaProblem } from '#shared/schema-problem.ts'

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

/** What is wrong with a value, and where. */
export interface Problem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/**
 * Makes a schema stop at the first problem, and describe it as the continuation of a path. A body may hold hundreds of
 * thousands of items, and collecting all their problems would take seconds.
 */
export const STOP_AT_FIRST: z.core.ParseContext<z.core.$ZodIssue> & Pick<z.core.ParseContextInternal, 'abortEarly'> = {
  abortEarly: true,
  error: schemaProblem,
}

/**
 * The first problem of a value. Where a value may have one of several forms, the problem is that of the form that it
 * has by its type, so that the path names the member and not just the whole; where it has none of them, the union says
 * so. An unknown member beside a missing one, which it may have been meant for, is reported together with that.
 */
export function firstProblem({ issues }: z.core.$ZodError): Problem {
  const [issue] = issues
  const missing = issues.find(({ message }) => message === MISSING)
  if (issue?.code === 'unrecognized_keys' && missing !== undefined) {
    return { path: issue.path, message: `${issue.message}, and ${missing.path.join('.')} ${MISSING}` }
  }
  return issue === undefined ? { path: [], message: 'is not valid' } : (closest(issue) ?? issue)
}

/** Undefined: the value is of another type than the schema wants, so that it was meant for another form. */
function closest(issue: z.core.$ZodIssue): Problem | undefined {
  const { path, message } = issue
  if (issue.code === 'invalid_union') {
    for (const [first] of issue.errors) {
      const inner = first === undefined ? undefined : closest(first)
      if (inner !== undefined) return { path: [...path, ...inner.path], message: inner.message }
    }
  }
  const otherType = issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union'
  return otherType && path.length === 0 ? undefined : { path, message }
}

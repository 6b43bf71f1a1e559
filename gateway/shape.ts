import type { DescField } from '@bufbuild/protobuf'
import { z } from 'zod'
import type { JsonValue } from '#shared/json.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { MISSING, oneOf } from '#shared/schema-problem.ts'

/** Most members and items of one free-form JSON value. Between processes each is a message of its own. */
const MEMBERS = 50_000
/** Deepest nesting of JSON objects that are passed on. */
const MAX_DEPTH = 30

/** Any value: what was parsed is JSON. */
const anyJson = z.unknown() as z.ZodType<JsonValue>

/** For a schema with its own problem text: what the value must be. */
export function mustBe(what: string): { error: (issue: z.core.$ZodRawIssue) => string } {
  return { error: ({ input }) => (input === undefined ? MISSING : `must be ${what}`) }
}

/**
 * The problem of a value that has none of the forms of a union discriminated by a member (`type`); `describe` describes
 * an unknown type.
 */
export function typeErrors(describe?: (type: string) => string): { error: (issue: z.core.$ZodRawIssue) => string } {
  return {
    error({ code, input, options, discriminator }) {
      if (input === undefined) return MISSING
      if (code === 'invalid_type') return 'must be an object'
      const choices = oneOf((options as unknown[]).filter((option) => typeof option === 'string'))
      const type = (input as Readonly<Record<string, unknown>>)[String(discriminator ?? 'type')]
      if (type === undefined) return MISSING
      return (typeof type === 'string' ? describe?.(type) : undefined) ?? `must be ${choices}`
    },
  }
}

/** Collects the problems of a value, with the paths of its members. */
export interface Problems {
  addIssue(issue: { readonly code: 'custom'; readonly path?: readonly PropertyKey[]; readonly message: string }): void
}

/** For `check`: does what `superRefine` does, which would keep each value alive until a full garbage collection. */
export function refinedBy<T>(find: (value: T, problems: Problems) => void): z.core.CheckFn<T> {
  return ({ value, issues }) =>
    find(value, {
      addIssue: ({ code, path = [], message }) =>
        void issues.push({ code, path: [...path], message, input: value, continue: true }),
    })
}

/** A schema that is expensive to check: a value in which `problem` finds a problem is not checked further. */
export function guarded<S extends z.ZodType>(schema: S, problem: (value: unknown) => string | undefined) {
  return z.preprocess((value, context) => {
    const message = problem(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
    return value
  }, schema)
}

const BOUNDS = {
  characters: ['minLength', 'maxLength'],
  bytes: ['minLength', 'maxLength'],
  items: ['minItems', 'maxItems'],
  pairs: ['minProperties', 'maxProperties'],
  number: ['minimum', 'maximum'],
} as const

/**
 * A schema that shows the limit of the field that its value is sent in, or is an `item` of; that of free-form data in
 * words. It does not check the limit: the service does, whose proto it is in.
 */
export function limitedBy<S extends z.ZodType>(field: DescField, schema: S, part?: 'item'): S {
  const limit = limitOf(field, part)
  if (limit.unit === 'bytes as JSON') {
    const { description = '' } = schema.meta() ?? {}
    return schema.meta({ description: `${description} At most ${limit.most} bytes as JSON.`.trim() })
  }
  const isMap = field.fieldKind === 'map' && part === undefined
  const [least, most] = BOUNDS[isMap ? 'pairs' : (limit.unit ?? 'number')]
  const bounds = { [least]: limit.least, [most]: limit.most }
  return schema.meta(Object.fromEntries(Object.entries(bounds).filter(([, bound]) => Number.isFinite(bound))))
}

/** The most that a field may hold, for a text of the document. */
export function mostIn(field: DescField): string {
  return limitOf(field).most.toLocaleString('en-US')
}

/** A whole number as text, from 1 to the limit of the field that it is sent in, which is at least 10. */
export function countUpTo(field: DescField) {
  const { most } = limitOf(field)
  const digits = String(most)
  const rest = String(most).length - 1
  const asLong = [...digits].flatMap((digit, i) => {
    const least = i === 0 ? 1 : 0
    return Number(digit) > least ? [`${digits.slice(0, i)}[${least}-${Number(digit) - 1}]\\d{${rest - i}}`] : []
  })
  const pattern = new RegExp(`^(${[`[1-9]\\d{0,${rest - 1}}`, ...asLong, digits].join('|')})$`)
  return { most, schema: z.string().regex(pattern, `must be an integer from 1 to ${most}`) }
}

/**
 * What keeps a JSON value from being passed on, or undefined. Between processes it travels as protobuf, whose readers
 * stop at 100 levels, three of which are one level here; a member called `__proto__` would change the prototype of
 * whatever it is copied to; and a number that JSON.parse reads as infinite would come out as null.
 */
export function jsonProblem(value: unknown, most: number): string | undefined {
  return problemOf(value, most, most, { left: MEMBERS })
}

/** How many members and items a JSON value has, on all levels. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  return members.reduce((sum: number, member) => sum + countMembers(member), members.length)
}

function problemOf(value: unknown, most: number, levels: number, budget: { left: number }): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'has a number that is too large'
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return `must be nested at most ${most} levels deep`
  if (Object.hasOwn(value, '__proto__')) return 'must not have a member called __proto__'
  const members = Object.values(value)
  budget.left -= members.length
  if (budget.left < 0) return `must have at most ${MEMBERS} members`
  for (const member of members) {
    const problem = problemOf(member, most, levels - 1, budget)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Why a JSON object cannot be passed on; undefined if it can, or is not an object. */
export function objectProblem(value: unknown, depth = MAX_DEPTH): string | undefined {
  return typeof value === 'object' && value !== null ? jsonProblem(value, depth) : undefined
}

/**
 * A free-form JSON object, nested at most `depth` levels deep, whose members are passed on untouched. `why` says why
 * the contract names no members.
 */
export function freeObject(why: string, depth = MAX_DEPTH) {
  const object = z.record(z.string(), anyJson, mustBe('an object'))
  return guarded(object, (value) => objectProblem(value, depth)).meta({ description: why })
}

/** An object that may have any other members, which are passed on untouched. */
export function openObject<S extends z.core.$ZodLooseShape>(members: S) {
  return z.object(members).catchall(anyJson)
}

/** A member that may be present but must have no effect: null, false, and empty lists and objects pass. */
export function notYet(what: string) {
  const error = `${what} is not supported`
  const nothing = [z.null(), z.literal(false), z.array(z.never()).max(0, error), z.strictObject({}, error)] as const
  return z.union(nothing, error).optional()
}

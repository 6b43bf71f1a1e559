import { type ZodType, z } from 'zod'
import { jsonProblem } from './schemas/json.ts'

/** Deepest nesting of JSON objects that are passed on. */
const MAX_DEPTH = 30

/** A JSON object that is passed on as it is, nested at most 30 levels deep. */
export type FreeObject = { readonly [name: string]: unknown }

/** A schema chosen by what the value looks like, so that a problem names the member and not just the whole. */
export function byShape<T>(choose: (value: unknown) => ZodType<T>): ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = choose(value).safeParse(value)
    if (result.success) return result.data
    for (const { message, path } of result.error.issues) {
      context.issues.push({ code: 'custom', message, path: [...path], input: value })
    }
    return z.NEVER
  })
}

/**
 * An object whose `type` names one of the schemas. One without a `type` takes the schema called `absent`; a type that has no
 * schema is refused with what `unknown` says of it.
 */
export function byType<S extends Readonly<Record<string, ZodType>>>(
  schemas: S,
  options: { readonly absent?: keyof S & string; readonly unknown?: (type: string) => string } = {},
): ZodType<z.output<S[keyof S]>> {
  const known = Object.keys(schemas).join(', ')
  const describe = options.unknown ?? ((type: string) => `"${type.slice(0, 64)}" is none of ${known}`)
  return byShape((value) => {
    if (!isObject(value)) return refusal('expected an object')
    const type = value.type ?? options.absent
    if (typeof type !== 'string') return refusal(`expected one of ${known}`, ['type'])
    const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined
    return (schema ?? refusal(describe(type), ['type'])) as ZodType<z.output<S[keyof S]>>
  })
}

/**
 * A list that ends at its first problem. A body may hold millions of items, and to collect what is wrong with each of
 * them, as `z.array` does, would take minutes and gigabytes.
 */
export function list<T>(item: ZodType<T>, { least = 0, most }: { least?: number; most: number }): ZodType<T[]> {
  const whole = z.array(z.unknown()).min(least).max(most)
  return whole.transform((values, context) => {
    const checked: T[] = []
    for (const [i, value] of values.entries()) {
      const result = item.safeParse(value)
      if (!result.success) {
        const { message, path } = result.error.issues[0] as z.core.$ZodIssue
        context.issues.push({ code: 'custom', message, path: [i, ...path], input: value })
        return z.NEVER
      }
      checked.push(result.data)
    }
    return checked
  })
}

/** A schema that nothing fulfils. */
export function refusal(message: string, path: readonly string[] = []): ZodType<never> {
  return z.unknown().transform((value, context) => {
    context.issues.push({ code: 'custom', message, path: [...path], input: value })
    return z.NEVER
  })
}

/** A setting that may be there, but may not ask for anything: null, false, and empty lists and objects pass. */
export function notYet(what: string): ZodType<unknown> {
  return z
    .unknown()
    .refine(asksNothing, { message: `${what} is not supported` })
    .optional()
}

/** A JSON object that nobody looks into. */
export const anyObject = z.custom<FreeObject>(isObject, { message: 'Invalid input: expected object' })

/** A JSON object whose members are passed on untouched. */
export const freeObject: ZodType<FreeObject> = anyObject.superRefine((value, context) => {
  const problem = jsonProblem(value, MAX_DEPTH)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

function asksNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

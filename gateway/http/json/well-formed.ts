import { isObject } from '#shared/json.ts'
import type { Rejection } from '#shared/rejection.ts'
import { invalidAt } from '../check.ts'
import type { Path } from './json-parser.ts'

/**
 * Where the first string is that is not well-formed, innermost member first; `isName`: the object that it names a
 * member of.
 */
interface IllFormed {
  readonly path: PropertyKey[]
  readonly isName: boolean
}

/** Finds it in a value of JSON. */
export function findIllFormed(value: unknown): IllFormed | undefined {
  if (typeof value === 'string') return isWellFormed(value, false) ? undefined : { path: [], isName: false }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const found = findIllFormed(item)
      if (found !== undefined) return within(i, found)
    }
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (!isWellFormed(name, true)) return { path: [], isName: true }
      const found = findIllFormed(member)
      if (found !== undefined) return within(name, found)
    }
  }
  return undefined
}

function within(member: PropertyKey, found: IllFormed): IllFormed {
  found.path.push(member)
  return found
}

/** Whether a string has no lone surrogate, and a name no NUL either. */
export function isWellFormed(text: string, isName: boolean): boolean {
  return text.isWellFormed() && !(isName && text.includes('\0'))
}

/** What is rejected for it. */
export function illFormed(path: Path, isName: boolean): Rejection {
  const problem = isName ? 'has a member name with a lone surrogate or NUL' : 'has a lone surrogate'
  return invalidAt(path, problem, 'BODY_INVALID')
}

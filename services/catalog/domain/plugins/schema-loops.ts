import { isObject } from '#shared/json.ts'

/** A whole schema, and its named parts. */
interface Root {
  readonly value: unknown
  readonly anchors: ReadonlyMap<unknown, unknown>
}

function anchorsIn(value: unknown, anchors = new Map<unknown, unknown>()): ReadonlyMap<unknown, unknown> {
  if (typeof value !== 'object' || value === null) return anchors
  if (isObject(value)) anchors.set(value.$anchor, value).set(value.$dynamicAnchor, value)
  for (const member of Object.values(value)) anchorsIn(member, anchors)
  return anchors
}

/** Keywords whose subschemas apply to the same value as the schema that contains them. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']

/**
 * Whether a JSON Schema, or a part of it, refers to itself for the same value, by pointers or names, so that validation
 * would never end.
 */
export function refersToItself(schema: unknown): boolean {
  return hasLoop(schema, { value: schema, anchors: anchorsIn(schema) }, new Map())
}

// `seen`: schemas that are known not to refer to themselves.
function hasLoop(schema: unknown, root: Root, seen: Map<unknown, boolean>): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return entersItself(schema, root, seen) || Object.values(schema).some((member) => hasLoop(member, root, seen))
}

function entersItself(schema: unknown, root: Root, seen: Map<unknown, boolean>): boolean {
  if (!isObject(schema)) return false
  const isLoopFree = seen.get(schema)
  if (isLoopFree !== undefined) return !isLoopFree
  seen.set(schema, false)
  const within = SAME_VALUE.flatMap((name) => {
    const member = schema[name]
    return name === 'dependentSchemas' || Array.isArray(member) ? Object.values(member ?? {}) : [member]
  })
  const targets = [schema.$ref, schema.$dynamicRef, schema.$recursiveRef].map((ref) => targetOf(ref, root))
  const enters = [...within, ...targets].some((next) => entersItself(next, root, seen))
  seen.set(schema, true)
  return enters
}

/** The target of a pointer (`#/a/b`) or a name (`#a`); undefined: none. */
function targetOf(ref: unknown, { value, anchors }: Root): unknown {
  if (typeof ref !== 'string') return undefined
  const fragment = decodePercent(ref.slice(1))
  if (fragment !== '' && !fragment.startsWith('/')) return anchors.get(fragment)
  return lookUp(value, fragment.split('/').slice(1))
}

/** Follows the words of a JSON pointer (RFC 6901); undefined: it leads nowhere. */
export function lookUp(value: unknown, words: readonly string[]): unknown {
  let target = value
  for (const word of words) {
    const name = word.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    target = Reflect.get(target, name)
  }
  return target
}

/** Decodes a part of a URI; a malformed part is returned unchanged. */
export function decodePercent(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

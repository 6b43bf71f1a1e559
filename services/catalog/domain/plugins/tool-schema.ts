import { isJson, isObject, type JsonObject } from '#shared/json.ts'
import { DocumentError } from '../agent-document.ts'
import { percentDecoded } from '../percent-decoded.ts'

const MAX_DEPTH = 24
/** In JSON. */
const MAX_CHARACTERS = 64 << 10

/**
 * Checks what a plugin gives as the schema of a tool's input: whoever lists it or passes it on is safe from its size, its depth
 * and references to elsewhere. Nothing of it is compiled or tried here, but in the plugin's own thread. Throws DocumentError.
 */
export function checkSchema(value: unknown, at: string): JsonObject {
  if (!isObject(value) || value.type !== 'object') throw new DocumentError(`${at} is no schema of type object`)
  checkDepth(value, at, MAX_DEPTH)
  if (!isJson(value)) throw new DocumentError(`${at} is not JSON`)
  if (JSON.stringify(value).length > MAX_CHARACTERS) {
    throw new DocumentError(`${at} has more than ${MAX_CHARACTERS} characters`)
  }
  const root = { value, anchors: anchorsIn(value) }
  if (refersToItself(value, root, new Map())) throw new DocumentError(`${at} has a reference that leads to itself`)
  return value as JsonObject
}

function checkDepth(value: unknown, at: string, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) throw new DocumentError(`${at} is more than ${MAX_DEPTH} levels deep`)
  for (const [name, member] of Object.entries(value)) {
    if (/^\$(ref|dynamicRef|recursiveRef)$/.test(name) && (typeof member !== 'string' || !member.startsWith('#'))) {
      throw new DocumentError(`${at} refers to something outside of it`)
    }
    checkDepth(member, at, left - 1)
  }
}

/** A whole schema, and what of it has a name. */
interface Root {
  readonly value: unknown
  readonly anchors: ReadonlyMap<unknown, unknown>
}

function anchorsIn(value: unknown, found = new Map<unknown, unknown>()): ReadonlyMap<unknown, unknown> {
  if (typeof value !== 'object' || value === null) return found
  if (isObject(value)) found.set(value.$anchor, value).set(value.$dynamicAnchor, value)
  for (const member of Object.values(value)) anchorsIn(member, found)
  return found
}

/** Keywords whose schemas are for the same value as the one that they are in. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']

/** Whether a schema in it is for the same value as itself, so that nothing is ever checked. `seen`: whether it is known not to be so. */
function refersToItself(schema: unknown, root: Root, seen: Map<unknown, boolean>): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return entersItself(schema, root, seen) || Object.values(schema).some((member) => refersToItself(member, root, seen))
}

function entersItself(schema: unknown, root: Root, seen: Map<unknown, boolean>): boolean {
  if (!isObject(schema)) return false
  const known = seen.get(schema)
  if (known !== undefined) return !known
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

/** What a pointer (`#/a/b`) or a name (`#a`) leads to; undefined: nothing. */
function targetOf(ref: unknown, { value, anchors }: Root): unknown {
  if (typeof ref !== 'string') return undefined
  const fragment = percentDecoded(ref.slice(1))
  if (fragment !== '' && !fragment.startsWith('/')) return anchors.get(fragment)
  let target = value
  for (const part of fragment.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    target = typeof target === 'object' && target !== null ? Reflect.get(target, name) : undefined
  }
  return target
}

import { isJson, isObject, type JsonObject } from '#shared/json.ts'
import { DocumentError } from '../agent-document.ts'
import { refersToItself } from './schema-loops.ts'

const MAX_DEPTH = 24
/** As JSON. */
const MAX_CHARACTERS = 64 << 10

/**
 * Checks the schema that a plugin gives for a tool's input, so that those who list it or pass it on are safe from its
 * size, its depth and external references. Nothing of it is compiled or used here, only in the plugin's own thread.
 * Throws DocumentError.
 */
export function checkSchema(value: unknown, at: string): JsonObject {
  if (!isObject(value) || value.type !== 'object') throw new DocumentError(`${at} is no schema of type object`)
  checkDepth(value, at, MAX_DEPTH)
  if (!isJson(value) || !isObject(value)) throw new DocumentError(`${at} is not JSON`)
  if (JSON.stringify(value).length > MAX_CHARACTERS) {
    throw new DocumentError(`${at} has more than ${MAX_CHARACTERS} characters`)
  }
  if (refersToItself(value)) throw new DocumentError(`${at} has a reference to itself`)
  return value
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

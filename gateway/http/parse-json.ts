import { isUtf8 } from 'node:buffer'
import { isObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { invalidAt } from './check.ts'

/**
 * Parses the bytes of a JSON text. Rejects with BODY_MALFORMED (not UTF-8, or not JSON) or BODY_INVALID (strings that
 * are not well-formed Unicode).
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new Rejection('BODY_MALFORMED', { problem: 'the body is not UTF-8' })
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const value = parseText(text)
  // Lone surrogates, and NUL in names, can only come from escapes, so bodies without any need no walk.
  if (text.includes('\\u')) requireWellFormed(value, [])
  return value
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Rejection('BODY_MALFORMED', { problem: 'the body is not valid JSON' })
  }
}

function requireWellFormed(value: unknown, path: PropertyKey[]): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw invalidAt(path, 'has a lone surrogate', 'BODY_INVALID')
    return
  }
  if (!Array.isArray(value) && !isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    if (!name.isWellFormed() || name.includes('\0')) {
      throw invalidAt(path, 'has a member name with a lone surrogate or NUL', 'BODY_INVALID')
    }
    path.push(name)
    requireWellFormed(member, path)
    path.pop()
  }
}

import { isObject } from './json.ts'

/**
 * Returns a JSON value in which all texts and names are well-formed: half of a surrogate pair, left when a text is cut
 * within a character, becomes U+FFFD. Providers refuse requests that contain one. If there is none, the value itself is
 * returned.
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (mended(value) as T)
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isObject(value)) return true
  for (const name in value) if (!name.isWellFormed() || !isWellFormed(value[name])) return false
  return true
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mended)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toWellFormed(), mended(member)]))
}

import { isObject, type JsonObject } from '#shared/json.ts'

/** Maximum depth of nested objects and arrays. */
const MAX_DEPTH = 32

/** A JSON object, or why it is refused. */
export type StrictRead = { readonly value: JsonObject } | { readonly problem: string }

/**
 * Reads a JSON object that can only be understood in one way: UTF-8 without a byte order mark, no duplicate member in
 * an object (however it is escaped), no half of a surrogate pair, and at most 32 levels.
 */
export function readStrictJson(bytes: Uint8Array): StrictRead {
  const text = decodeUtf8(bytes)
  if (text === undefined) return { problem: 'is not UTF-8' }
  const value = parseJson(text)
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const problem = findAmbiguity(text)
  return problem === undefined ? { value: value as JsonObject } : { problem }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Finds what `JSON.parse` hides, in a text that it has accepted. */
function findAmbiguity(text: string): string | undefined {
  /** For each open object, the names of its members so far; undefined for an array. */
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '{' || character === '[') {
      if (open.push(character === '{' ? new Set() : undefined) > MAX_DEPTH) return `is over ${MAX_DEPTH} levels deep`
    } else if (character === '}' || character === ']') {
      open.pop()
    } else if (character === '"') {
      const end = endOfString(text, at)
      const string = stringOf(text, at, end)
      if (!string.isWellFormed()) return 'has half of a surrogate pair'
      at = end - 1
      const names = isName(text, end) ? open.at(-1) : undefined
      if (names?.has(string)) return 'has a member twice'
      names?.add(string)
    }
  }
  return undefined
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function stringOf(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1)
  return inside.includes('\\') ? JSON.parse(text.slice(start, end)) : inside
}

/** Only names are followed by a colon. */
function isName(text: string, end: number): boolean {
  let at = end
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1
  return text[at] === ':'
}

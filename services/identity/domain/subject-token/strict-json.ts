import { isObject, type JsonObject } from '#shared/json.ts'

/** How many objects and lists may lie within one another. */
const MAX_DEPTH = 32

/** A JSON object, or why it is not taken. */
export type StrictRead = { readonly value: JsonObject } | { readonly problem: string }

/**
 * Reads a JSON object that can be understood in one way only: UTF-8 without a byte order mark, no member twice in one
 * object (however it is spelled), no half of a surrogate pair, not more than 32 levels deep.
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

/** What `JSON.parse` does not show, in a text that it has accepted. */
function findAmbiguity(text: string): string | undefined {
  /** For each object or list that is open: the names of its members so far; undefined: a list, which has none. */
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

/** Where the string that begins at `start` is over: behind its closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function stringOf(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1)
  return inside.includes('\\') ? JSON.parse(text.slice(start, end)) : inside
}

/** Only a name has a colon behind it. */
function isName(text: string, end: number): boolean {
  let at = end
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1
  return text[at] === ':'
}

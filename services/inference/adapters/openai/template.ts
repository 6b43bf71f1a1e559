import type { JsonObject } from '#shared/json.ts'

const KEY = '"content":"'

/**
 * Reads text chunks without parsing them. Most chunks of an answer differ in nothing but the text of `content`: once one of them was
 * parsed, another with the same letters before and after that text says the same with another text. Parsing was half of what a chunk
 * costs here.
 */
export class OpenaiTemplate {
  #before = ''
  #after = ''

  /** The text of a chunk that differs from the learned one in nothing else, else undefined. */
  match(data: string): string | undefined {
    const [before, after] = [this.#before, this.#after]
    const end = data.length - after.length
    if (before === '' || end <= before.length) return undefined
    // Slices that are compared take a fifth of the time of startsWith and endsWith.
    if (data.slice(0, before.length) !== before || data.slice(end) !== after) return undefined
    const text = data.slice(before.length, end)
    return text.includes('"') || text.includes('\\') ? undefined : text
  }

  /** Learns from a chunk whose `delta` adds a text and which says nothing besides. */
  learn(data: string, delta: JsonObject, text: string): void {
    const at = data.indexOf(KEY)
    const start = at + KEY.length
    // The only `content`, written without escapes: what stands around it is the rest of the chunk.
    if (at < 0 || data.lastIndexOf(KEY) !== at || text.includes('"') || text.includes('\\')) return
    if (!data.startsWith(`${text}"`, start) || !isPlain(delta)) return
    this.#before = data.slice(0, start)
    this.#after = data.slice(start + text.length)
  }
}

function isPlain(delta: JsonObject): boolean {
  for (const name in delta) if (name !== 'content' && name !== 'role' && delta[name] !== null) return false
  return true
}

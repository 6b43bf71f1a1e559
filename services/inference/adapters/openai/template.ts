/** What stands between the same letters: the text that grows, or what differs each time and says nothing. */
interface Hole {
  /** The letters before it. */
  readonly before: string
  readonly kind: 'text' | 'word' | 'number'
}

/** Members that differ from event to event and say nothing: a number in order, and letters that hide how long a text is. */
const IDLE = [
  { key: '"sequence_number":', kind: 'number' },
  { key: '"obfuscation":"', kind: 'word' },
] as const

const ZERO = 48
const NINE = 57

/**
 * Reads events by which a text grows without parsing them. Most events of an answer differ in nothing but that text: once one of them was
 * parsed, another with the same letters around it says the same with another text. Parsing was half of what such an event costs here.
 */
export class DeltaTemplate {
  readonly #key: string
  #holes: readonly Hole[] = []
  #after = ''

  /** `member`: the one that holds the text. */
  constructor(member: string) {
    this.#key = `"${member}":"`
  }

  /** The text of an event that differs from the learned one in nothing else, else undefined; an empty one adds nothing, and is for the parser. */
  match(data: string): string | undefined {
    let at = 0
    let text: string | undefined
    for (const { before, kind } of this.#holes) {
      const start = at + before.length
      // Slices that are compared take a fifth of the time of startsWith and endsWith.
      if (data.slice(at, start) !== before) return undefined
      at = kind === 'number' ? endOfNumber(data, start) : data.indexOf('"', start)
      if (at < 0) return undefined
      if (kind === 'text') text = data.slice(start, at)
    }
    if (!text || data.slice(at) !== this.#after || text.includes('\\')) return undefined
    return text
  }

  /** Learns from an event that adds a text and says nothing besides; false: there is nothing to learn from it. */
  learn(data: string, text: string): boolean {
    const at = placeOf(data, this.#key)
    // Written without escapes: what stands around it is the rest of the event.
    if (at === undefined || text.includes('"') || text.includes('\\') || !data.startsWith(`${text}"`, at)) return false
    const holes = [{ start: at, end: at + text.length, kind: 'text' as Hole['kind'] }]
    for (const { key, kind } of IDLE) {
      const start = placeOf(data, key)
      if (start === undefined) continue
      const end = kind === 'number' ? endOfNumber(data, start) : data.indexOf('"', start)
      if (end > start) holes.push({ start, end, kind })
    }
    let last = 0
    this.#holes = holes
      .sort((one, other) => one.start - other.start)
      .map(({ start, end, kind }) => {
        const before = data.slice(last, start)
        last = end
        return { before, kind }
      })
    this.#after = data.slice(last)
    return true
  }
}

/** Where the value of a member begins that there is once; undefined: there is none, or several. */
function placeOf(data: string, key: string): number | undefined {
  const at = data.indexOf(key)
  return at < 0 || data.lastIndexOf(key) !== at ? undefined : at + key.length
}

function endOfNumber(data: string, start: number): number {
  let at = start
  for (let code = data.charCodeAt(at); code >= ZERO && code <= NINE; code = data.charCodeAt(at)) at++
  return at
}

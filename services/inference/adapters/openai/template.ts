/**
 * A variable section between fixed letters: the text that grows, or a value that differs each time and has no meaning.
 */
interface Hole {
  /** The letters before it. */
  readonly before: string
  readonly kind: 'text' | 'word' | 'number'
}

/**
 * Members that differ between events and have no meaning: a sequence number, and padding that hides the length of a
 * text.
 */
const IDLE = [
  { key: '"sequence_number":', kind: 'number' },
  { key: '"obfuscation":"', kind: 'word' },
] as const

const ZERO = 48
const NINE = 57

/**
 * Reads events that extend a text, without parsing them. Most events of an answer differ only in that text, so once one
 * of them was parsed, another with the same surrounding letters means the same with another text. Parsing was half of
 * the cost of such an event.
 */
export class DeltaTemplate {
  readonly #key: string
  #holes: readonly Hole[] = []
  #after = ''

  /** `member`: the one that contains the text. */
  constructor(member: string) {
    this.#key = `"${member}":"`
  }

  /**
   * The text of an event that differs from the learned one in nothing else, else undefined. Events with an empty text
   * are left to the parser.
   */
  match(data: string): string | undefined {
    let at = 0
    let text: string | undefined
    for (const { before, kind } of this.#holes) {
      const start = at + before.length
      // Comparing slices takes a fifth of the time of startsWith and endsWith.
      if (data.slice(at, start) !== before) return undefined
      at = kind === 'number' ? endOfNumber(data, start) : data.indexOf('"', start)
      if (at < 0) return undefined
      if (kind === 'text') text = data.slice(start, at)
    }
    if (!text || data.slice(at) !== this.#after || text.includes('\\')) return undefined
    return text
  }

  /** Learns from an event that only adds a text; returns false if it cannot learn from it. */
  learn(data: string, text: string): boolean {
    const at = placeOf(data, this.#key)
    // Written without escapes, so that the surrounding letters are the rest of the event.
    if (at === undefined || text.includes('"') || text.includes('\\') || !data.startsWith(`${text}"`, at)) return false
    const holes: (Omit<Hole, 'before'> & { start: number; end: number })[] = [
      { start: at, end: at + text.length, kind: 'text' },
    ]
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

  /** Nothing matches until another event is learned. */
  forget(): void {
    this.#holes = []
  }
}

/** Where the value of a member begins, if the member occurs exactly once; otherwise undefined. */
function placeOf(data: string, key: string): number | undefined {
  const at = data.indexOf(key)
  return at < 0 || data.lastIndexOf(key) !== at ? undefined : at + key.length
}

function endOfNumber(data: string, start: number): number {
  let at = start
  for (let code = data.charCodeAt(at); code >= ZERO && code <= NINE; code = data.charCodeAt(at)) at++
  return at
}

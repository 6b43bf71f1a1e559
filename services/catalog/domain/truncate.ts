/** Most lines that a tool answers with. */
export const MAX_LINES = 2000
/** Most bytes of text that a tool answers with. */
export const MAX_BYTES = 50 << 10

/** Text that fits, and whether something was left out. */
export interface Truncated {
  readonly text: string
  readonly truncated: boolean
}

/** Keeps the first lines of a list, at most 2,000 and 50 KiB, and adds `note` when some are left out. */
export function truncateLines(lines: readonly string[], note: string, more = false): Truncated {
  const kept: string[] = []
  let bytes = 0
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1
    if (kept.length === MAX_LINES || bytes > MAX_BYTES) break
    kept.push(line)
  }
  const truncated = more || kept.length < lines.length
  return { text: (truncated ? [...kept, '', note] : kept).join('\n'), truncated }
}

/**
 * Keeps the beginning and the end of a stream of bytes and forgets the middle: what a command prints first and last is
 * what tells most. Never holds more than `limit` bytes and one chunk.
 */
export class OutputWindow {
  readonly #half: number
  readonly #head: Uint8Array[] = []
  #headBytes = 0
  #tail = Buffer.alloc(0)
  #total = 0

  constructor(limit = MAX_BYTES) {
    this.#half = limit >> 1
  }

  /** Bytes seen so far. */
  get total(): number {
    return this.#total
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length
    const room = this.#half - this.#headBytes
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room))
      this.#headBytes += Math.min(room, chunk.length)
    }
    const rest = chunk.subarray(Math.max(0, room))
    if (rest.length > 0) this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-this.#half))
  }

  /** The last bytes as text, at most `limit`. */
  tail(limit: number): string {
    return decode(Buffer.concat([...this.#head, this.#tail]).subarray(-limit))
  }

  /** Everything, or beginning and end with a note between them; at most 2,000 lines. */
  text(): Truncated {
    const head = Buffer.concat(this.#head)
    const left = this.#total - head.length - this.#tail.length
    if (left === 0) return middleOut(decode(Buffer.concat([head, this.#tail])))
    const note = `\n\n… ${left} bytes left out; redirect the output to a file and read it in parts …\n\n`
    return { text: middleOut(decode(head)).text + note + middleOut(decode(this.#tail)).text, truncated: true }
  }
}

function middleOut(text: string): Truncated {
  const lines = text.split('\n')
  if (lines.length <= MAX_LINES) return { text, truncated: false }
  const half = MAX_LINES / 2
  const note = `\n… ${lines.length - MAX_LINES} lines left out …\n`
  return { text: [...lines.slice(0, half), note, ...lines.slice(-half)].join('\n'), truncated: true }
}

// A character that is cut at either end of a window becomes U+FFFD there; those are dropped.
function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^\uFFFD{1,3}|\uFFFD$/g, '')
}

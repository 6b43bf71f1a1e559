/** Maximum number of lines in a tool's result. */
export const MAX_LINES = 2000
/** Maximum number of bytes of text in a tool's result. */
export const MAX_BYTES = 50 << 10

/** Text within the limits, and whether something was left out. */
export interface Truncated {
  readonly text: string
  readonly truncated: boolean
}

/** Keeps the first lines of a list, at most 2,000 and 50 KiB, and adds `note` if some are left out. */
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
 * Keeps the beginning and the end of a stream of bytes and drops the middle: the first and last lines of a command are
 * the most useful. It holds at most `limit` bytes, which are allocated once, and copies what it keeps.
 */
export class OutputWindow {
  readonly #half: number
  #head: Buffer | undefined
  #headBytes = 0
  /** A ring buffer: the byte after the newest one is the oldest. */
  #ring: Buffer | undefined
  /** Bytes that were not for the head. */
  #restBytes = 0

  constructor(limit = MAX_BYTES) {
    this.#half = limit >> 1
  }

  /** Bytes seen so far. */
  get total(): number {
    return this.#headBytes + this.#restBytes
  }

  push(chunk: Uint8Array): void {
    const first = chunk.subarray(0, this.#half - this.#headBytes)
    if (first.length > 0) {
      this.#head ??= Buffer.allocUnsafeSlow(this.#half)
      this.#head.set(first, this.#headBytes)
      this.#headBytes += first.length
    }
    const rest = chunk.length - first.length
    if (rest === 0) return
    this.#ring ??= Buffer.allocUnsafeSlow(this.#half)
    const last = chunk.subarray(chunk.length - Math.min(rest, this.#half))
    const at = (this.#restBytes + rest - last.length) % this.#half
    this.#ring.set(last.subarray(0, this.#half - at), at)
    this.#ring.set(last.subarray(this.#half - at), 0)
    this.#restBytes += rest
  }

  /** The last bytes as text, at most `limit`. */
  tail(limit: number): string {
    return decode(Buffer.concat([...this.#first, ...this.#last]).subarray(-limit))
  }

  /** Everything, or beginning and end with a note between them; at most 2,000 lines. */
  text(): Truncated {
    const left = this.#restBytes - this.#half
    if (left <= 0) return middleOut(decode(Buffer.concat([...this.#first, ...this.#last])))
    const note = `\n\n… ${left} ${left === 1 ? 'byte' : 'bytes'} left out; redirect the output to a file and read it in parts …\n\n`
    const [head, tail] = [this.#first, this.#last].map((part) => middleOut(decode(Buffer.concat(part))).text)
    return { text: `${head}${note}${tail}`, truncated: true }
  }

  get #first(): Uint8Array[] {
    return this.#head === undefined ? [] : [this.#head.subarray(0, this.#headBytes)]
  }

  get #last(): Uint8Array[] {
    if (this.#ring === undefined) return []
    const at = this.#restBytes % this.#half
    if (this.#restBytes <= this.#half) return [this.#ring.subarray(0, this.#restBytes)]
    return [this.#ring.subarray(at), this.#ring.subarray(0, at)]
  }
}

function middleOut(text: string): Truncated {
  const lines = text.split('\n')
  if (lines.length <= MAX_LINES) return { text, truncated: false }
  const half = MAX_LINES / 2
  const left = lines.length - MAX_LINES
  const note = `\n… ${left} ${left === 1 ? 'line' : 'lines'} left out …\n`
  return { text: [...lines.slice(0, half), note, ...lines.slice(-half)].join('\n'), truncated: true }
}

// A character that is cut at either end of a window becomes U+FFFD there, and is dropped.
function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^\uFFFD{1,3}|\uFFFD$/g, '')
}

import { MAX_MESSAGE } from './host/protocol.ts'

const NEWLINE = 10
/** Bytes of a line: every character of a message may take a few. */
const MAX_LINE = 4 * MAX_MESSAGE

/** Splits what comes out of a channel into lines. One that is too long, or that `line` throws for, breaks it off for good. */
export class LineSplitter {
  readonly #line: (line: string) => void
  readonly #breakOff: () => void
  #parts: Buffer[] = []
  #size = 0
  #over = false

  constructor(line: (line: string) => void, breakOff: () => void) {
    this.#line = line
    this.#breakOff = breakOff
  }

  push(chunk: Buffer): void {
    try {
      let rest = chunk
      while (!this.#over && rest.length > 0) rest = this.#take(rest)
    } catch {
      this.#end()
    }
  }

  #take(chunk: Buffer): Buffer {
    const at = chunk.indexOf(NEWLINE)
    const part = at < 0 ? chunk : chunk.subarray(0, at)
    this.#parts.push(part)
    this.#size += part.length
    if (this.#size > MAX_LINE) this.#end()
    if (at < 0 || this.#over) return Buffer.alloc(0)
    const line = Buffer.concat(this.#parts).toString()
    this.#parts = []
    this.#size = 0
    this.#line(line)
    return chunk.subarray(at + 1)
  }

  #end(): void {
    this.#over = true
    this.#parts = []
    this.#breakOff()
  }
}

import { MessageGauge } from './message-gauge.ts'

const NEWLINE = 0x0a

/** Splits a stream of bytes into lines, none of which is too large to be parsed. */
export class LineReader {
  readonly #gauge = new MessageGauge()
  #parts: Uint8Array[] = []

  /** Returns the lines that these bytes complete, without line ends. Throws MessageError. */
  push(chunk: Uint8Array): string[] {
    const lines: string[] = []
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end))
      lines.push(Buffer.concat(this.#parts).toString())
      this.#parts = []
      this.#gauge.reset()
      from = end + 1
    }
    this.#add(chunk.subarray(from))
    return lines
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return
    this.#gauge.add(part)
    this.#parts.push(part)
  }
}

import type { Response } from 'express'
import { ownTurn } from '#shared/own-turn.ts'

/** How much text is buffered before it is written, in characters. */
const COLLECTED_LIMIT = 16_384

const LAST_CHUNK = '0\r\n\r\n'

/**
 * Collects the text of one turn of the event loop and writes it at once: in the first turn together with the headers.
 * It frames chunks itself (RFC 9112 section 7.1) where node:http would, which would write four pieces for each, at
 * nearly twice the cost.
 */
export class EventWriter {
  readonly #response: Response
  readonly #chunked: boolean
  #collected = ''
  #flush: NodeJS.Immediate | undefined
  #slow = false

  constructor(response: Response) {
    this.#response = response
    this.#chunked = response.chunkedEncoding
    response.chunkedEncoding = false
    response.on('drain', () => {
      this.#slow = false
    })
    this.#flush = setImmediate(() => this.#write())
  }

  add(text: string): void {
    if (text === '') return
    this.#collected += text
    if (this.#collected.length >= COLLECTED_LIMIT) this.#write()
    else this.#flush ??= setImmediate(() => this.#write())
  }

  /** Resolves once it is written: all others would wait while many clients are written one at once. */
  async addLong(bytes: Buffer): Promise<void> {
    await ownTurn()
    if (this.#collected !== '') this.#write()
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    response.cork()
    if (this.#chunked) response.write(`${bytes.length.toString(16)}\r\n`, 'latin1')
    this.#slow = !response.write(bytes)
    if (this.#chunked) response.write('\r\n', 'latin1')
    response.uncork()
  }

  /** Whether the client has not taken what was written yet. */
  get full(): boolean {
    return this.#slow
  }

  /** Sends a comment unless something waits to be taken: then the connection is not idle. */
  beat(comment: string): void {
    if (!this.#slow) this.add(comment)
  }

  finish(text: string): void {
    if (this.#response.writableEnded) return
    this.#collected += text
    if (this.#collected !== '') this.#write()
    this.#response.end(this.#chunked ? LAST_CHUNK : undefined)
  }

  #write(): void {
    if (this.#flush !== undefined) clearImmediate(this.#flush)
    this.#flush = undefined
    if (this.#response.destroyed || this.#response.writableEnded) return
    if (this.#collected === '') {
      // The first message produced no frame, but the client has to know that the stream has begun.
      this.#response.flushHeaders()
      return
    }
    const text = this.#collected
    this.#collected = ''
    const bytes = Buffer.byteLength(text)
    // Without other letters than ASCII's, both encodings are the same, and Latin-1 is the cheaper one.
    const encoding = bytes === text.length ? 'latin1' : 'utf8'
    this.#slow = !this.#response.write(this.#chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text, encoding)
  }
}

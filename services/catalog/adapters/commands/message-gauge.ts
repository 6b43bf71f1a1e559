import { randomInt } from 'node:crypto'

/** Maximum size of one message from a server. */
export const MAX_MESSAGE_BYTES = 16 << 20
const MAX_MEMBERS = 100_000
/** Distinct member names, each counted once: they take several times as long to parse as repeated ones. */
const MAX_NAMES = 20_000
const MAX_DEPTH = 64

const [QUOTE, BACKSLASH, COMMA, COLON, NEWLINE, RETURN] = [0x22, 0x5c, 0x2c, 0x3a, 0x0a, 0x0d]
/** Names are distinguished by a hash that whoever chooses them cannot predict. */
const FACTOR = 2 * randomInt(2 ** 30) + 1

/** A message is too large to be read. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

/**
 * Measures a JSON text as its bytes arrive, so that none is parsed that would block the event loop or fill the memory:
 * at most 16 MiB, 100,000 members and items, 20,000 distinct member names, and 64 levels.
 */
export class MessageGauge {
  readonly #limit: number
  #bytes = 0
  #members = 0
  #depth = 0
  #deepest = 0
  #quoted = false
  #escaped = false
  /** Hash of the string that began last. */
  #hash = 0
  readonly #names = new Set<number>()

  constructor(limit = MAX_MESSAGE_BYTES) {
    this.#limit = limit
  }

  /** Counts more bytes of the text. Throws MessageError. */
  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#limit) throw new MessageError(`it sent a message of more than ${this.#limit} bytes`)
    for (let at = 0; at < bytes.length; at++) {
      if (this.#quoted) at = this.#text(bytes, at)
      else this.#structure(bytes[at] ?? 0)
    }
    if (this.#members > MAX_MEMBERS || this.#deepest > MAX_DEPTH) {
      throw new MessageError(`it sent a message of more than ${MAX_MEMBERS} members or ${MAX_DEPTH} levels`)
    }
    if (this.#names.size > MAX_NAMES) {
      throw new MessageError(`it sent a message whose members have more than ${MAX_NAMES} different names`)
    }
  }

  /** The next bytes begin another message. */
  reset(): void {
    this.#bytes = this.#members = this.#depth = this.#deepest = 0
    this.#quoted = this.#escaped = false
    this.#names.clear()
  }

  /** Reads a string from here on; returns where it ends. */
  #text(bytes: Uint8Array, from: number): number {
    let [hash, escaped, at] = [this.#hash, this.#escaped, from]
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      // Strings in JSON contain no line breaks.
      if ((byte === QUOTE && !escaped) || byte === NEWLINE || byte === RETURN) {
        this.#quoted = escaped = false
        break
      }
      escaped = byte === BACKSLASH && !escaped
      hash = (Math.imul(hash, FACTOR) + byte) | 0
    }
    this.#hash = hash
    this.#escaped = escaped
    return at
  }

  #structure(byte: number): void {
    if (byte === QUOTE) {
      this.#quoted = true
      this.#hash = 0
      return
    }
    // `[` and `{` differ in one bit, and so do `]` and `}`.
    const folded = byte | 0x20
    if (folded === 0x7b) {
      this.#deepest = Math.max(this.#deepest, ++this.#depth)
      this.#members++
    } else if (folded === 0x7d) {
      this.#depth--
    } else if (byte === COMMA) {
      this.#members++
    } else if (byte === COLON) {
      this.#names.add(this.#hash)
    }
  }
}

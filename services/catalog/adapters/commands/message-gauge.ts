import { randomInt } from 'node:crypto'

/** Most bytes of one message of a server. */
export const MAX_MESSAGE_BYTES = 16 << 20
const MAX_MEMBERS = 100_000
/** Of members, each counted once: those that differ take several times as long to parse as those that are repeated. */
const MAX_NAMES = 20_000
const MAX_DEPTH = 64

const [QUOTE, BACKSLASH, COMMA, COLON, NEWLINE] = [0x22, 0x5c, 0x2c, 0x3a, 0x0a]
/** Names are compared by a hash that whoever chooses them cannot predict. */
const FACTOR = 2 * randomInt(2 ** 30) + 1

/** A message that is not read. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

/**
 * Measures a JSON text while its bytes come, so that none is parsed that would hold the event loop or fill the memory: at
 * most 16 MiB, 100,000 members and items, 20,000 different names of members, and 64 levels.
 */
export class MessageGauge {
  readonly #limit: number
  #bytes = 0
  #members = 0
  #depth = 0
  #quoted = false
  #escaped = false
  /** Of the string that was last begun. */
  #hash = 0
  readonly #names = new Set<number>()

  constructor(limit = MAX_MESSAGE_BYTES) {
    this.#limit = limit
  }

  /** Counts further bytes of the text. Throws MessageError. */
  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#limit) throw new MessageError(`it sent a message of more than ${this.#limit} bytes`)
    for (const byte of bytes) {
      if (this.#escaped) {
        this.#escaped = false
        this.#mix(byte)
      } else if (byte === QUOTE) {
        this.#quoted = !this.#quoted
        if (this.#quoted) this.#hash = 0
      }
      // No string of JSON contains one.
      else if (byte === NEWLINE) this.#quoted = false
      else if (this.#quoted) {
        this.#escaped = byte === BACKSLASH
        this.#mix(byte)
      } else this.#structure(byte)
    }
    if (this.#members > MAX_MEMBERS || this.#depth > MAX_DEPTH) {
      throw new MessageError(`it sent a message of more than ${MAX_MEMBERS} members or ${MAX_DEPTH} levels`)
    }
    if (this.#names.size > MAX_NAMES) {
      throw new MessageError(`it sent a message whose members have more than ${MAX_NAMES} different names`)
    }
  }

  /** The next bytes begin another message. */
  reset(): void {
    this.#bytes = this.#members = this.#depth = 0
    this.#quoted = this.#escaped = false
    this.#names.clear()
  }

  #mix(byte: number): void {
    this.#hash = (Math.imul(this.#hash, FACTOR) + byte) | 0
  }

  #structure(byte: number): void {
    // `[` and `{`, `]` and `}` differ in one bit.
    const folded = byte | 0x20
    if (folded === 0x7b) {
      this.#depth++
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

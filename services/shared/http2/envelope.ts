import { Code, ConnectError } from '@connectrpc/connect'

const PREFIX_BYTES = 5

/** A message of a Connect stream: its flags and its data. */
export interface Envelope {
  readonly flags: number
  readonly data: Uint8Array
}

/** Puts a message into an envelope. */
export function sealEnvelope(data: Uint8Array): Uint8Array {
  const sealed = Buffer.allocUnsafe(PREFIX_BYTES + data.byteLength)
  sealed.writeUInt8(0, 0)
  sealed.writeUInt32BE(data.byteLength, 1)
  sealed.set(data, PREFIX_BYTES)
  return sealed
}

/**
 * Reads envelopes from pieces of any size. An envelope above the limit fails with RESOURCE_EXHAUSTED before it is
 * buffered.
 */
export class EnvelopeReader {
  readonly #maxBytes: number
  #bytes: Buffer = Buffer.alloc(0)
  #parts: Uint8Array[] = []
  #total = 0
  #needed = PREFIX_BYTES

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether there are bytes left that are not a whole envelope. */
  get partial(): boolean {
    return this.#total > 0
  }

  push(piece: Uint8Array): void {
    this.#parts.push(piece)
    this.#total += piece.byteLength
  }

  /** The next whole envelope, if it is complete. */
  next(): Envelope | undefined {
    if (!this.#gather(PREFIX_BYTES)) return undefined
    const length = this.#bytes.readUInt32BE(1)
    if (length > this.#maxBytes) {
      throw new ConnectError(`A message has ${length} bytes; ${this.#maxBytes} are allowed`, Code.ResourceExhausted)
    }
    if (!this.#gather(PREFIX_BYTES + length)) return undefined
    const envelope = { flags: this.#bytes.readUInt8(0), data: this.#bytes.subarray(PREFIX_BYTES, this.#needed) }
    this.#bytes = this.#bytes.subarray(this.#needed)
    this.#total -= this.#needed
    return envelope
  }

  /** Whether enough bytes have arrived. Joins the pieces only then, so that a long message is copied once. */
  #gather(needed: number): boolean {
    this.#needed = needed
    if (this.#total < needed) return false
    if (this.#bytes.byteLength < needed) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#parts])
      this.#parts = []
    }
    return true
  }
}

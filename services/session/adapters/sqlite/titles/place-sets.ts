/** Places of one block. */
export const BLOCK = 2_048

const BYTES = BLOCK / 8

/**
 * Some of a block's places, counted from 0, as they are stored: two bytes for each, or, where that would be more, a bit for each place
 * of the block.
 */
export function storedPlaces(places: readonly number[]): Uint8Array {
  const isShort = 2 * places.length < BYTES
  const bytes = new Uint8Array(isShort ? 2 * places.length : BYTES)
  let at = 0
  for (const place of places) {
    if (isShort) {
      bytes[at++] = place & 0xff
      bytes[at++] = place >> 8
    } else setBit(bytes, place)
  }
  return bytes
}

/** The places of a block that are in all of some sets; a block has them all to begin with. */
export class CommonPlaces {
  readonly #bits = new Uint8Array(BYTES).fill(0xff)

  /** Keeps what is in a stored set, too; returns whether anything is left. */
  keep(stored: Uint8Array): boolean {
    const bits = stored.length === BYTES ? stored : bitsOf(stored)
    let left = 0
    for (let i = 0; i < BYTES; i++) {
      const common = (this.#bits[i] as number) & (bits[i] as number)
      this.#bits[i] = common
      left |= common
    }
    return left !== 0
  }

  places(): number[] {
    const places: number[] = []
    for (const [at, byte] of this.#bits.entries()) {
      for (let bit = 0; byte >> bit > 0; bit++) if ((byte >> bit) & 1) places.push(8 * at + bit)
    }
    return places
  }
}

function bitsOf(stored: Uint8Array): Uint8Array {
  const bits = new Uint8Array(BYTES)
  for (let i = 0; i < stored.length; i += 2) setBit(bits, (stored[i] as number) | ((stored[i + 1] as number) << 8))
  return bits
}

function setBit(bits: Uint8Array, place: number): void {
  bits[place >> 3] = (bits[place >> 3] as number) | (1 << (place & 7))
}

/** Places of one block. */
export const BLOCK = 2_048

const BYTES = BLOCK / 8

/** Adds a place to those of a term, in ascending order; a title may have the term twice. */
export function addPlace(places: Map<number, number[]>, term: number, place: number): void {
  const known = places.get(term)
  if (known === undefined) places.set(term, [place])
  else if (known.at(-1) !== place) known.push(place)
}

/**
 * Some of a block's places, counted from 0, as they are stored: two bytes for each, or, where that would be more, a bit
 * for each place of the block.
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

/** Places of a block, a bit for each. */
export type PlaceBits = Uint32Array

/** What is in a stored set and among some places, where they are given; undefined when that is nothing. */
export function commonPlaces(stored: Uint8Array, among: PlaceBits | undefined): PlaceBits | undefined {
  const bytes = stored.length === BYTES ? stored : bitsOf(stored)
  const bits = new Uint32Array(bytes.buffer, bytes.byteOffset, BYTES / Uint32Array.BYTES_PER_ELEMENT)
  if (among === undefined) return bits
  let left = 0
  for (let i = 0; i < bits.length; i++) {
    const common = (bits[i] as number) & (among[i] as number)
    bits[i] = common
    left |= common
  }
  return left === 0 ? undefined : bits
}

/** How many places there are. */
export function countPlaces(bits: PlaceBits): number {
  let count = 0
  for (const word of bits) for (let left = word; left !== 0; left &= left - 1) count++
  return count
}

/** The places, counted from 0. */
export function listPlaces(bits: PlaceBits): number[] {
  const places: number[] = []
  for (const [at, byte] of new Uint8Array(bits.buffer, bits.byteOffset, BYTES).entries()) {
    for (let bit = 0; byte >> bit > 0; bit++) if ((byte >> bit) & 1) places.push(8 * at + bit)
  }
  return places
}

function bitsOf(stored: Uint8Array): Uint8Array {
  const bits = new Uint8Array(BYTES)
  for (let i = 0; i < stored.length; i += 2) setBit(bits, (stored[i] as number) | ((stored[i + 1] as number) << 8))
  return bits
}

function setBit(bits: Uint8Array, place: number): void {
  bits[place >> 3] = (bits[place >> 3] as number) | (1 << (place & 7))
}

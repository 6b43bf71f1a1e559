/** Bytes of each of the two numbers in a signature. */
const SIZE = 32

/**
 * Converts a DER signature, as node:crypto makes it, to the form in tokens (RFC 7518 section 3.4: r and s side by
 * side). node:crypto could convert it as well, but creates a key object for that, which takes half as long as signing.
 */
export function plainSignature(der: Uint8Array): Buffer {
  const plain = Buffer.alloc(2 * SIZE)
  let at = 2
  for (const end of [SIZE, 2 * SIZE]) {
    const next = at + 2 + (der[at + 1] ?? 0)
    // A leading zero byte marks the number as positive.
    const digits = der.subarray(Math.max(at + 2, next - SIZE), next)
    plain.set(digits, end - digits.length)
    at = next
  }
  return plain
}

/** Converts a signature from its form in tokens to DER; undefined if its length is wrong. */
export function derSignature(plain: Uint8Array): Buffer | undefined {
  if (plain.length !== 2 * SIZE) return undefined
  const r = integerOf(plain.subarray(0, SIZE))
  const s = integerOf(plain.subarray(SIZE))
  return Buffer.from([0x30, r.length + s.length, ...r, ...s])
}

function integerOf(number: Uint8Array): number[] {
  const first = number.findIndex((byte) => byte !== 0)
  const digits = number.subarray(first < 0 ? SIZE - 1 : first)
  const isNegative = (digits[0] ?? 0) > 0x7f
  return isNegative ? [2, digits.length + 1, 0, ...digits] : [2, digits.length, ...digits]
}

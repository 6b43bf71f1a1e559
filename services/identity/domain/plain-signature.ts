/** Bytes of each of the two numbers of a signature. */
const SIZE = 32

/**
 * An ES256 signature as tokens carry it (RFC 7518 section 3.4: r and s side by side), of the DER that node:crypto makes. node:crypto would
 * convert it as well, but makes a key of its own for that, which takes half as long as the signature.
 */
export function plainSignature(der: Uint8Array): Buffer {
  const plain = Buffer.alloc(2 * SIZE)
  let at = 2
  for (const end of [SIZE, 2 * SIZE]) {
    const next = at + 2 + (der[at + 1] ?? 0)
    // A byte of zeros before them says that the number is positive.
    const digits = der.subarray(Math.max(at + 2, next - SIZE), next)
    plain.set(digits, end - digits.length)
    at = next
  }
  return plain
}

/** The DER of a signature as tokens carry it; undefined: it is none, since it has another length. */
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

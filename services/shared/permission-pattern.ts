/**
 * Whether a pattern matches a whole text: `*` matches any sequence of characters including `/`, `?` matches one
 * character, and `\` equals `/`. A pattern that ends in ` *` also matches without an argument: `git push *` matches
 * `git push`.
 */
export function matches(pattern: string, text: string): boolean {
  const wanted = pattern.replaceAll('\\', '/')
  const value = text.replaceAll('\\', '/')
  if (wanted.endsWith(' *') && matchesGlob(wanted.slice(0, -2), value)) return true
  return matchesGlob(wanted, value)
}

/**
 * Whether a pattern matches a whole text: `*` matches any sequence of characters, `?` matches one. However long and
 * hostile both are, it takes a few milliseconds.
 */
function matchesGlob(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text.length === first.length && fitsAt(first, text, 0)
  const end = text.length - last.length
  if (first.length > end || !fitsAt(first, text, 0) || !fitsAt(last, text, end)) return false
  let from = first.length
  for (const piece of rest) {
    // V8's own search is faster, but uses no more than the last 250 characters to skip ahead.
    const isPlain = piece.length <= 250 && !piece.includes('?')
    const at = isPlain ? text.indexOf(piece, from) : indexOfWild(piece, text, from)
    if (at < 0 || at + piece.length > end) return false
    from = at + piece.length
  }
  return true
}

function fitsAt(piece: string, text: string, at: number): boolean {
  for (let i = 0; i < piece.length; i++) if (piece[i] !== '?' && piece[i] !== text[at + i]) return false
  return true
}

/**
 * The first position, at `from` or later, at which a piece matches, or -1. It is the Shift-And algorithm (Baeza-Yates
 * and Gonnet 1992): bit i of the state is set if the first i + 1 characters of the piece match up to here.
 */
function indexOfWild(piece: string, text: string, from: number): number {
  const words = Math.ceil(piece.length / 32)
  const elsewhere = new Uint32Array(words)
  const places = new Map<number, Uint32Array>()
  for (const wild of [true, false]) {
    for (let i = 0; i < piece.length; i++) {
      if ((piece[i] === '?') !== wild) continue
      const code = piece.charCodeAt(i)
      const mask = wild ? elsewhere : (places.get(code) ?? elsewhere.slice())
      mask[i >>> 5] = (mask[i >>> 5] ?? 0) | (1 << (i & 31))
      if (!wild) places.set(code, mask)
    }
  }
  const state = new Uint32Array(words)
  const top = 1 << ((piece.length - 1) & 31)
  for (let at = from; at < text.length; at++) {
    const mask = places.get(text.charCodeAt(at)) ?? elsewhere
    let carry = 1
    for (let w = 0; w < words; w++) {
      const word = state[w] ?? 0
      state[w] = ((word << 1) | carry) & (mask[w] ?? 0)
      carry = word >>> 31
    }
    if (((state[words - 1] ?? 0) & top) !== 0) return at - piece.length + 1
  }
  return -1
}

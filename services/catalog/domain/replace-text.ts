/** The resulting text, or why there is none. */
export type Replacement =
  | { readonly type: 'replaced'; readonly text: string; readonly count: number }
  | { readonly type: 'missing' }
  | { readonly type: 'ambiguous'; readonly count: number }
  | { readonly type: 'too-long' }

/** Maximum length of a text after a replacement, since many short passages may be replaced by a long one. */
export const MAX_REPLACED_LENGTH = 5 << 20

/**
 * Replaces a passage that occurs exactly once, or every occurrence. If a text uses `\r\n` throughout the passage, `\n`
 * may be given instead.
 */
export function replaceText(text: string, from: string, to: string, all: boolean): Replacement {
  const replacement = replaceExact(text, from, to, all)
  if (replacement.type !== 'missing' || !text.includes('\r\n') || from.includes('\r')) return replacement
  return replaceExact(text, from.replaceAll('\n', '\r\n'), to.replaceAll(/\r?\n/g, '\r\n'), all)
}

function replaceExact(text: string, from: string, to: string, all: boolean): Replacement {
  const parts = text.split(from)
  const count = parts.length - 1
  if (count === 0) return { type: 'missing' }
  if (count > 1 && !all) return { type: 'ambiguous', count }
  if (text.length + count * (to.length - from.length) > MAX_REPLACED_LENGTH) return { type: 'too-long' }
  return { type: 'replaced', text: parts.join(to), count }
}

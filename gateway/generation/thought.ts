/** Prefix of an opaque text that contains its maker, for wire formats without a member for that. */
const PREFIX = 'portico:'

/** The opaque data of a thought or a call, and the kind of provider that made it. */
export interface Proof {
  /** Undefined: unknown. */
  readonly format: string | undefined
  readonly proof: string
}

/**
 * The opaque text of a thought, for wire formats without a member for its maker. Data of the format's `native` kind of
 * provider stays unchanged; all other data is prefixed with its kind, so that it goes back only to that kind.
 */
export function sealProof(format: string | undefined, proof: string, native: string): string {
  return format === native ? proof : `${PREFIX}${format ?? ''}:${proof}`
}

/** Decodes such a text. One without a prefix was made by the `native` kind. */
export function openProof(text: string, native: string): Proof {
  if (!text.startsWith(PREFIX)) return { format: native, proof: text }
  const end = text.indexOf(':', PREFIX.length)
  if (end < 0) return { format: native, proof: text }
  return { format: text.slice(PREFIX.length, end) || undefined, proof: text.slice(end + 1) }
}

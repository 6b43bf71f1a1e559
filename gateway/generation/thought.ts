/** Marks an opaque text whose maker a wire form has no member for. */
const PREFIX = 'portico:'

/** What is opaque of a thought or a call, and the kind of provider that made it. */
export interface Proof {
  /** Undefined: unknown. */
  readonly format: string | undefined
  readonly proof: string
}

/**
 * The opaque text of a thought as a wire form without a member for its maker shows it: what the form's `native` kind of provider made
 * stays as it is, before anything else stands who made it, so that it comes back to whom it belongs and to nobody else.
 */
export function sealProof(format: string | undefined, proof: string, native: string): string {
  return format === native ? proof : `${PREFIX}${format ?? ''}:${proof}`
}

/** What such a text was made of. One without a mark was made by the `native` kind. */
export function openProof(text: string, native: string): Proof {
  if (!text.startsWith(PREFIX)) return { format: native, proof: text }
  const end = text.indexOf(':', PREFIX.length)
  if (end < 0) return { format: native, proof: text }
  return { format: text.slice(PREFIX.length, end) || undefined, proof: text.slice(end + 1) }
}

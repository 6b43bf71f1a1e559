/** On average, a token has at least this many bytes of UTF-8, so that estimates err on the high side. */
export const BYTES_OF_TOKEN = 3

/** Estimates how many tokens a text of this many bytes has. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_OF_TOKEN)
}

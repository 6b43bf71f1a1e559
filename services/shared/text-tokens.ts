/** A token has at least so many bytes of UTF-8, on the whole: what counts by it is rather too much than too little. */
export const BYTES_OF_TOKEN = 3

/** So many tokens a text of so many bytes is taken for. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_OF_TOKEN)
}

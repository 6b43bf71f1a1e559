/** Decodes a part of a URI; a malformed part is returned unchanged. */
export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The text that a part of a URI stands for, or the part itself where that is not well-formed. */
export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

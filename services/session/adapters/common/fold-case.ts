/** An i with a combining dot above, which is the lower case of İ. */
const DOTTED = /i\u0307/g

/**
 * A text as searches compare it: without letter case, and with composed characters. Beyond Unicode's mappings (ß is ss,
 * ﬁ is fi), a final sigma is a sigma, and the four letters i of Turkish are the same.
 */
export function foldCase(text: string): string {
  // Lower case first, since ẞ is its own upper case.
  const lower = text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase()
  return lower.replaceAll('ς', 'σ').replaceAll(DOTTED, 'i').normalize('NFC')
}

/** A query whose search has the form that titles are compared in. */
export function withFoldedSearch<Q extends { readonly search?: string }>(query: Q): Q {
  return query.search === undefined ? query : { ...query, search: foldCase(query.search) }
}

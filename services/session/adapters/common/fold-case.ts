/** A dot above an i, which İ leaves. */
const DOTTED = /i\u0307/g

/**
 * A text as searches compare it: without letter case, and with characters composed. Beside what case means everywhere
 * (ß is ss, ﬁ is fi), a final sigma is a sigma, and the four letters i of Turkish are one.
 */
export function foldCase(text: string): string {
  // From lower case, since ẞ is its own upper case.
  const lower = text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase()
  return lower.replaceAll('ς', 'σ').replaceAll(DOTTED, 'i').normalize('NFC')
}

/** A query whose search is what titles are compared with. */
export function withFoldedSearch<Q extends { readonly search?: string }>(query: Q): Q {
  return query.search === undefined ? query : { ...query, search: foldCase(query.search) }
}

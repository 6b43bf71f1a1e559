/** The length of a gram; a shorter text has none. */
const LENGTH = 3

/**
 * The sequences of three characters in a text, each once. A text that contains another one has all of its grams, and so
 * do a few others: an index of grams finds candidates.
 */
export function gramsOf(text: string): string[] {
  // SQLite's indexes end a text at NUL.
  const characters = [...text.replaceAll('\0', '\ufffd').toWellFormed()]
  const grams = new Set<string>()
  for (let end = LENGTH; end <= characters.length; end++) grams.add(characters.slice(end - LENGTH, end).join(''))
  return [...grams]
}

/** Adds the grams of the title, if there is one. */
export function withGrams<R extends { readonly titleSearch?: string | null }>(record: R): R & { grams?: string[] } {
  const { titleSearch } = record
  return typeof titleSearch === 'string' ? { ...record, grams: gramsOf(titleSearch) } : record
}

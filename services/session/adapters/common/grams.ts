/** A text shorter than that has no grams. */
const LENGTH = 3

/**
 * The runs of three characters in a text, each once. Every text that contains it has all of them, and so have a few
 * others: an index of them finds candidates.
 */
export function gramsOf(text: string): string[] {
  // An index of SQLite ends a text at a NUL.
  const characters = [...text.replaceAll('\0', '\ufffd').toWellFormed()]
  const grams = new Set<string>()
  for (let end = LENGTH; end <= characters.length; end++) grams.add(characters.slice(end - LENGTH, end).join(''))
  return [...grams]
}

/** Adds the grams of the title, where there is one. */
export function withGrams<R extends { readonly titleSearch?: string | null }>(record: R): R & { grams?: string[] } {
  const { titleSearch } = record
  return typeof titleSearch === 'string' ? { ...record, grams: gramsOf(titleSearch) } : record
}

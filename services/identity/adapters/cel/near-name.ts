/** Most letters that a misspelled name has too many, too few or wrong. */
const MOST_EDITS = 2

/** Which of the names somebody may have meant who wrote another one; undefined: none. */
export function nearName(written: string, names: readonly string[]): string | undefined {
  const near = names.map((name) => ({ name, edits: edits(plain(written), plain(name)) }))
  const [nearest] = near.toSorted((one, other) => one.edits - other.edits)
  // Of a short name two edits leave little.
  const most = Math.min(MOST_EDITS, Math.floor(written.length / 3))
  return nearest !== undefined && nearest.edits <= most ? nearest.name : undefined
}

/** Some write `tokenType`, or `startswith`. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

/** How many letters have to be added, removed or replaced to make one text of another (Levenshtein's distance). */
function edits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, its] of [...other].entries()) {
      const [above = 0, left = 0, before = 0] = [row[j + 1], next[j], row[j]]
      next.push(Math.min(above + 1, left + 1, before + (letter === its ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

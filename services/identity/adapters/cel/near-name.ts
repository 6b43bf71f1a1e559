/** Most letters by which a misspelt name may differ. */
const MOST_EDITS = 2

/** The name that somebody may have meant who wrote a similar one; undefined: none. */
export function nearName(written: string, names: readonly string[]): string | undefined {
  const near = names.map((name) => ({ name, edits: edits(plain(written), plain(name)) }))
  const [nearest] = near.toSorted((one, other) => one.edits - other.edits)
  // Two edits change most of a short name.
  const most = Math.min(MOST_EDITS, Math.floor(written.length / 3))
  return nearest !== undefined && nearest.edits <= most ? nearest.name : undefined
}

/** Some people write `tokenType`, or `startswith`. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

/** How many letters must be added, removed or replaced to turn one text into the other (Levenshtein distance). */
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

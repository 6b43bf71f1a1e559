import type { DatabaseSync } from 'node:sqlite'
import { foldCase } from '#services/session/adapters/common/fold-case.ts'

/** What searches compare was in lower case only. ASCII has no other case. */
export function foldTitles(database: DatabaseSync): void {
  const update = database.prepare('UPDATE sessions SET titleSearch = ? WHERE number = ?')
  const titled = database.prepare(
    'SELECT number, title, titleSearch FROM sessions WHERE octet_length(title) > length(title)',
  )
  for (const { number, title, titleSearch } of titled.all()) {
    const folded = foldCase(title as string)
    if (folded !== titleSearch) update.run(folded, number as number)
  }
}

import type { Session } from '#services/session/domain/session.ts'
import type { SessionQuery, UnreadableSession } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { gramsOf } from '../common/grams.ts'
import { race } from '../common/race.ts'
import { toListed } from '../common/session-record.ts'
import { planOf } from './session-plan.ts'
import { readSessions, scanSessions } from './session-scan.ts'
import type { TitleIndex } from './titles/title-index.ts'
import { searchTitles } from './titles/title-search.ts'

/** See SessionLists.listSessions. */
export async function* listSessions(
  file: SqliteFile,
  titles: TitleIndex,
  workspace: string,
  given: SessionQuery,
): AsyncGenerator<readonly (Session | UnreadableSession)[]> {
  const query = withFoldedSearch(given)
  const { search } = query
  const plan = planOf(workspace, query)
  if (plan.rest === undefined) {
    yield readSessions(file, plan, query).map(toListed)
  } else if (search === undefined || gramsOf(search).length === 0) {
    for await (const found of race([scanSessions(file, plan, query)])) yield found.map(toListed)
  } else {
    titles.look()
    // What few titles contain is found by the index, what many contain on the way through the list.
    const ways = [scanSessions(file, plan, query), searchTitles(file, workspace, { ...query, search })]
    for await (const found of race(ways)) yield found.map(toListed)
  }
}

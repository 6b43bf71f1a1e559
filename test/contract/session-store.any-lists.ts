import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { admission, get, listed, newSession, type StoreFixture, type StoreTest, W } from './session-store.support.ts'

const WORDS = ['parser', 'lexer', 'renderer', 'Gateway', 'a', 'of the', '100%']
const DIRECTORIES = ['/a', '/a/b', '/c'] as const
const PROJECTS = ['p1', 'p2'] as const
const HOUR_MS = 3_600_000
const SUBPATHS = ['', 'b', 'b/c'] as const

/** Lists with any filters, compared with a model in memory. */
export function anyListCases(test: StoreTest): void {
  test('any filters find the same sessions as a simple model, on every page', async (fixture) => {
    const { store } = fixture
    const all = await fill(fixture, 300)
    const one = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
    const project = fc.record({ projectId: one(...PROJECTS), subpath: one(...SUBPATHS) })
    const queries = fc.record({
      order: fc.constantFrom(Order.ASCENDING, Order.DESCENDING),
      limit: fc.constantFrom(1, 7, 50),

      directory: one(...DIRECTORIES),
      parentId: one(null, 'ses_7', 'ses_none'),
      project,
      search: one('parser', 'LEX', 'er', 'a', 'ser of t', '0%', 'parser lexer', 'nothing'),
      until: one(all[100]?.updateTime, all[0]?.updateTime),
    })
    await fc.assert(
      fc.asyncProperty(queries, async ({ project: { projectId, subpath }, ...query }) => {
        const given = { ...query, projectId, subpath: projectId === undefined ? undefined : subpath }
        const defined = Object.entries(given).filter(([, value]) => value !== undefined)
        const asked = Object.fromEntries(defined) as unknown as SessionQuery
        const expected = inModel(all, asked)
        let after: Session | undefined
        for (let page = 0; page < 3; page++) {
          const found = await listed(store, { ...asked, ...(after && { after }) })
          const from = page * asked.limit
          assert.deepEqual(ids(found), ids(expected.slice(from, from + asked.limit)), JSON.stringify(asked))
          after = found.at(-1)
          if (after === undefined) break
        }
      }),
      { numRuns: 60 },
    )
  })

  test('pages that are read while sessions are prompted show every other session, and none twice', async (fixture) => {
    const { store, clock } = fixture
    const all = await fill(fixture, 60)
    for (const order of [Order.ASCENDING, Order.DESCENDING] as const) {
      for (const search of [undefined, 'lexer', 'er of the']) {
        const until = clock.now()
        const seen: string[] = []
        const prompted = new Set<string>()
        let after: Session | undefined
        for (let turn = 0; ; turn++) {
          const page = await listed(store, {
            order,
            limit: 7,
            ...(search !== undefined && { search }),
            ...(order === Order.ASCENDING && { until }),
            ...(after && { after }),
          })
          if (page.length === 0) break
          seen.push(...ids(page))
          after = page.at(-1)
          // Three of them in an hour.
          clock.advance(HOUR_MS / 3)
          for (const sessionId of [page[0]?.sessionId ?? '', after?.sessionId ?? '', `ses_${(turn * 13) % 60}`]) {
            prompted.add(sessionId)
            const id = `msg_${order}_${search}_${turn}_${sessionId}`
            await store.admit(W, admission(id, { sessionId, wake: false }))
          }
        }
        assert.equal(new Set(seen).size, seen.length, `none twice, ${Order[order]}, ${search}`)
        const quiet = ids(inModel(all, { search })).filter((id) => !prompted.has(id))
        assert.deepEqual(
          quiet.filter((id) => !seen.includes(id)),
          [],
          `none skipped, ${Order[order]}, ${search}`,
        )
      }
    }
  })

  test('a search shows each session that does not move, and none twice, while others move, change and go', async (fixture) => {
    const { store, clock } = fixture
    const all = await fill(fixture, 600)
    for (const order of [Order.ASCENDING, Order.DESCENDING] as const) {
      const until = clock.now()
      const changed = new Set<string>()
      const found: string[] = []
      let turns = 0
      for await (const batch of store.listSessions(W, { order, search: 'er', limit: 1_000, until })) {
        found.push(...batch.map(({ sessionId }) => sessionId))
        for (const i of [1, 2, 3]) {
          const sessionId = `ses_${(++turns * 7 + i * 100) % 600}`
          changed.add(sessionId)
          clock.advance(HOUR_MS)
          if ((await store.getSession(W, sessionId)) === undefined) continue
          if (i === 3) await store.removeSession(W, sessionId)
          else await store.admit(W, admission(`msg_${order}_${turns}_${i}`, { sessionId, wake: false }))
        }
      }
      assert.ok(turns > 3, `${turns} turns`)
      assert.equal(new Set(found).size, found.length, `none twice, ${Order[order]}`)
      const quiet = inModel(await present(store, all), { order, search: 'er', until })
      assert.deepEqual(
        found.filter((id) => !changed.has(id)),
        ids(quiet).filter((id) => !changed.has(id)),
        Order[order],
      )
    }
  })
}

/** Those sessions that are still there. */
async function present(store: StoreFixture['store'], all: readonly Session[]): Promise<Session[]> {
  const found = await Promise.all(all.map(({ sessionId }) => store.getSession(W, sessionId)))
  return found.filter((session) => session !== undefined)
}

/** Sessions of all kinds, some of which have moved up since. */
export async function fill({ store, clock }: StoreFixture, count: number): Promise<readonly Session[]> {
  const numbers = Array.from({ length: count }, (_, i) => i)
  const made: Promise<Session>[] = []
  for (const i of numbers) {
    if (i % 3 === 0) clock.advance(1)
    const title = i % 11 === 0 ? undefined : `${WORDS[i % 7]} ${WORDS[(i * 5) % 7]} ${i % 13}`
    const projectId = PROJECTS[i % 2] as string
    const directory = DIRECTORIES[i % 3] as string
    const at = { directory, projectId, subpath: SUBPATHS[(i >> 2) % 3] as string }
    made.push(store.createSession(W, newSession(`ses_${i}`, { title, ...at }), i % 5 === 4 ? 'ses_7' : undefined))
  }
  await Promise.all(made)
  for (const i of numbers.filter((n) => n % 17 === 3)) {
    clock.advance(1)
    await store.admit(W, admission(`msg_${i}`, { sessionId: `ses_${i}`, wake: false }))
  }
  return Promise.all(numbers.map((i) => get(store, `ses_${i}`)))
}

/** What a list contains, by the wording of its promise. */
export function inModel(
  all: readonly Session[],
  query: { [K in keyof SessionQuery]?: SessionQuery[K] | undefined },
): Session[] {
  const { order, search, directory, projectId, subpath, parentId, until } = query
  const found = all.filter(
    (session) =>
      (search === undefined || session.title?.toLowerCase().includes(search.toLowerCase())) &&
      (directory === undefined || session.directory === directory) &&
      (projectId === undefined || session.projectId === projectId) &&
      (subpath === undefined || session.subpath === subpath) &&
      (parentId === undefined || (session.parentId ?? null) === parentId) &&
      (until === undefined || session.updateTime <= until),
  )
  const sorted = found.sort((a, b) => a.updateTime - b.updateTime || (a.sessionId < b.sessionId ? -1 : 1))
  return order === Order.DESCENDING ? sorted.reverse() : sorted
}

function ids(sessions: readonly Session[]): string[] {
  return sessions.map(({ sessionId }) => sessionId)
}

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { rawRequest } from '#test/support/raw-http.ts'

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly cursor: { readonly previous?: string; readonly next?: string }
}

async function list(portico: Portico, path: string, query: Readonly<Record<string, string>>): Promise<Page> {
  const answer = await rawRequest(`${portico.url}${path}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as Page
}

/** Follows every cursor to the end and back; returns the ids on the way there. */
async function walk(portico: Portico, path: string, query: Readonly<Record<string, string>>): Promise<string[]> {
  const { limit = '50' } = query
  const there: Page[] = [await list(portico, path, query)]
  for (let next = there[0]?.cursor.next; next !== undefined; next = there.at(-1)?.cursor.next) {
    there.push(await list(portico, path, { limit, cursor: next }))
  }
  const back: Page[] = []
  for (let previous = there.at(-1)?.cursor.previous; previous !== undefined; previous = back.at(-1)?.cursor.previous) {
    back.push(await list(portico, path, { limit, cursor: previous }))
  }
  const ids = (pages: readonly Page[]): string[] => pages.flatMap(({ data }) => data.map(({ id }) => id))
  assert.deepEqual(ids(back.toReversed()), ids(there.slice(0, -1)), 'the way back is the way there')
  return ids(there)
}

test('every cursor of the list of sessions is accepted, with all filters', async () => {
  await using portico = await openPortico()
  const strange = join(
    portico.project,
    `a "b" \\c\n\t\u0001 ü 統 😀 %20+&=#?`,
    'd'.repeat(200),
    '統'.repeat(80),
    '統'.repeat(80),
  )
  await mkdir(strange, { recursive: true })
  const searches = ['統'.repeat(200), '😀'.repeat(200), '"\\'.repeat(500), '\u0001'.repeat(500), '%_&=+#? '.repeat(128)]
  for (const [i, search] of searches.entries()) {
    for (const n of [0, 1, 2]) {
      const body = { id: `ses_${i}${n}`, title: `x${search}y`, location: { directory: strange } }
      const created = await portico.post('/api/session', body)
      assert.equal(created.status, 200, await created.text())
    }
  }
  for (const [i, search] of searches.entries()) {
    const mine = [0, 1, 2].map((n) => `ses_${i}${n}`)
    const filters: Record<string, string>[] = [
      {},
      { directory: strange },
      { directory: strange, project: 'global', parentID: 'null' },
    ]
    for (const more of filters) {
      const query: Record<string, string> = { search, limit: '1', order: 'asc', ...more }
      assert.deepEqual(await walk(portico, '/api/session', query), mine, JSON.stringify(query))
    }
  }
  assert.equal((await walk(portico, '/api/session', { limit: '1' })).length, 15)
})

test('every cursor of a history is taken back, by sessions of the longest and strangest ids', async () => {
  await using portico = await openPortico()
  for (const id of [`ses_${'統'.repeat(60)}`, `ses "%\\ü😀?#`]) {
    await (await portico.post('/api/session', { id })).text()
    for (const agent of ['a', 'b', 'c']) {
      await (await portico.post(`/api/session/${encodeURIComponent(id)}/agent`, { agent })).text()
    }
    const path = `/api/session/${encodeURIComponent(id)}/message`
    for (const order of ['asc', 'desc']) assert.equal((await walk(portico, path, { limit: '1', order })).length, 3)
  }
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'

const MIB = 1_048_576
const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
const info = { id: 'ses_1', cost: 0, tokens, time: { created: 1 } }

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly cursor: { readonly next: string | null; readonly previous: string | null }
}

/** Texts of 1 MiB, one that is larger than any page, and a few small ones. */
const messages = Array.from({ length: 14 }, (_, at) => {
  const size = at === 6 ? 5 * MIB : at > 10 ? 10 : MIB
  return { id: `msg_${at}`, type: 'user', text: 'x'.repeat(size), time: { created: 1 } }
})

for (const order of ['asc', 'desc']) {
  test(`heavy messages have shorter pages, and none is skipped or twice, ${order}`, async () => {
    await using portico = await openPortico()
    assert.equal((await portico.post('/api/experimental/session/import', { info, messages })).status, 200)
    const read = async (query: string): Promise<Page> => {
      const answer = await portico.fetch(`/api/session/ses_1/message?limit=10&${query}`)
      assert.equal(answer.status, 200)
      return (await answer.json()) as Page
    }
    const walk = async (first: Page, way: 'next' | 'previous'): Promise<Page[]> => {
      const pages = [first]
      for (let at = first.cursor[way]; at != null; at = pages.at(-1)?.cursor[way] ?? null) {
        pages.push(await read(`cursor=${encodeURIComponent(at)}`))
      }
      return pages
    }
    const ids = messages.map(({ id }) => id)
    const forth = await walk(await read(`order=${order}`), 'next')
    const met = forth.flatMap(({ data }) => data.map(({ id }) => id))
    assert.deepEqual(met, order === 'asc' ? ids : ids.toReversed())
    assert.ok(forth.every(({ data }) => data.length === 1 || JSON.stringify(data).length <= 4 * MIB))
    assert.ok(
      forth.some(({ data }) => data.length === 3),
      'small enough messages share a page',
    )
    const back = await walk(forth.at(-1) as Page, 'previous')
    const again = back.toReversed().flatMap(({ data }) => data.map(({ id }) => id))
    assert.deepEqual(again, met)
  })
}

import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly cursor: { readonly previous?: string; readonly next?: string }
}

async function list(portico: Portico, query: Record<string, string> = {}): Promise<Page> {
  const answer = await portico.fetch(`/api/session?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as Page
}

const ids = ({ data }: Page) => data.map(({ id }) => id)

/** Sessions `ses_00` … in this order of activity. */
async function withSessions(count: number, more: (index: number) => object = () => ({})): Promise<Portico> {
  const portico = await openPortico()
  for (let index = 0; index < count; index++) {
    const id = `ses_${String(index).padStart(2, '0')}`
    const answer = await portico.post('/api/session', { id, ...more(index) })
    assert.equal(answer.status, 200)
    await answer.text()
  }
  return portico
}

test('without sessions the page is empty, and so is its cursor', async () => {
  await using portico = await openPortico()
  assert.deepEqual(await list(portico), { data: [], cursor: {} })
})

test('the newest 50 come first; next leads to the rest, previous back, and both end', async () => {
  await using portico = await withSessions(60)
  const first = await list(portico)
  assert.equal(first.data.length, 50)
  assert.deepEqual([first.data[0]?.id, first.data[49]?.id], ['ses_59', 'ses_10'])
  assert.equal(first.cursor.previous, undefined)
  const second = await list(portico, { cursor: first.cursor.next as string })
  assert.deepEqual([second.data[0]?.id, second.data[9]?.id, second.data.length], ['ses_09', 'ses_00', 10])
  assert.equal(second.cursor.next, undefined)
  const back = await list(portico, { cursor: second.cursor.previous as string })
  assert.deepEqual(ids(back), ids(first))
})

test('limit and order hold on each page; with a cursor the filters beside it are ignored', async () => {
  await using portico = await withSessions(5)
  const first = await list(portico, { limit: '2', order: 'asc' })
  assert.deepEqual(ids(first), ['ses_00', 'ses_01'])
  const second = await list(portico, { limit: '2', order: 'desc', search: 'x', cursor: first.cursor.next as string })
  assert.deepEqual(ids(second), ['ses_02', 'ses_03'])
  const third = await list(portico, { limit: '1000000', cursor: second.cursor.next as string })
  assert.deepEqual(ids(third), ['ses_04'])
})

test('filters select by text, directory, project with subpath, and parent', async () => {
  await using portico = await withSessions(3, (index) => ({ title: ['Fix 100% of it', 'Write', 'FIXTURE'][index] }))
  const other = await portico.post('/api/session', { id: 'ses_out', location: { directory: portico.outside } })
  await other.text()
  assert.deepEqual(ids(await list(portico, { search: 'fix' })), ['ses_02', 'ses_00'])
  assert.deepEqual(ids(await list(portico, { search: '0%' })), ['ses_00'])
  assert.deepEqual(ids(await list(portico, { search: 'TUR', project: 'global' })), ['ses_02'])
  assert.deepEqual(ids(await list(portico, { directory: portico.outside })), ['ses_out'])
  assert.equal((await list(portico, { project: 'global', subpath: '' })).data.length, 4)
  assert.equal((await list(portico, { project: 'nothing' })).data.length, 0)
  assert.equal((await list(portico, { parentID: 'null' })).data.length, 4)
  assert.equal((await list(portico, { parentID: 'ses_00' })).data.length, 0)
  assert.equal((await list(portico, { limit: '', search: '', parentID: '', cursor: '' })).data.length, 4)
})

test('pages end, and show no session twice, while every one that was shown is prompted again', async () => {
  await using portico = await withSessions(9)
  for (const order of ['asc', 'desc']) {
    const seen: string[] = []
    let page = await list(portico, { limit: '2', order })
    for (;;) {
      for (const id of ids(page)) {
        seen.push(id)
        const prompted = await portico.post(`/api/session/${id}/prompt`, { text: 'again', resume: false })
        assert.equal(prompted.status, 200, await prompted.text())
      }
      if (page.cursor.next === undefined) break
      page = await list(portico, { limit: '2', cursor: page.cursor.next })
    }
    assert.equal(new Set(seen).size, 9, order)
    assert.equal(seen.length, 9, order)
  }
})

test('a bad query is 400 and names its parameter', async () => {
  await using portico = await openPortico()
  const cases: [string, string][] = [
    ['limit=0', 'limit: must be an integer, at least 1'],
    ['limit=-1', 'limit: must be an integer, at least 1'],
    ['limit=1.5', 'limit: must be an integer, at least 1'],
    ['limit=ten', 'limit: must be an integer, at least 1'],
    ['limit=1&limit=2', 'limit: must be given only once'],
    ['limit[]=1', 'limit: must be a string'],
    ['order=newest', 'order: must be "asc" or "desc"'],
    ['parentID=abc', 'parentID: must be a session id (ses…) or "null"'],
    ['subpath=src', 'subpath: requires project'],
    ['search[a]=b', 'search: must be a string'],
    ['search=%00', 'search: must not contain NUL'],
  ]
  for (const [query, message] of cases) {
    const answer = await portico.fetch(`/api/session?${query}`)
    assert.equal(answer.status, 400, query)
    assert.deepEqual(await answer.json(), { _tag: 'InvalidRequestError', message, kind: 'Query' })
  }
})

test('a cursor that is not one of ours is 400 InvalidCursorError', async () => {
  await using portico = await openPortico()
  for (const cursor of ['x', 'eyJhIjoxfQ', '%F0%9F%98%80', 'x'.repeat(5_000)]) {
    const answer = await portico.fetch(`/api/session?cursor=${cursor}`)
    assert.equal(answer.status, 400, cursor)
    assert.deepEqual(await answer.json(), { _tag: 'InvalidCursorError', message: 'Invalid cursor' })
  }
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { DIALECTS } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

const HEADERS = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }

test('the row of a request says its session, end user and application, each from where it counts first', async () => {
  await using portico = await openPortico()
  const rowOf = async (dialect: string, body: object, headers: Record<string, string>) => {
    const answer = await portico.fetch(`/api/v1/${dialect}`, {
      method: 'POST',
      headers: { ...HEADERS, ...headers },
      body: JSON.stringify({ model: 'portico/echo', ...DIALECTS[dialect], ...body }),
    })
    const { openrouter_metadata: described } = (await answer.json()) as Json
    const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
    assert.deepEqual([answer.status, limits.filter((name) => answer.headers.has(name))], [200, []])
    const id = answer.headers.get('x-generation-id')
    const found = await portico.fetch(`/api/v1/generation?id=${id}`, { headers: HEADERS })
    const { data } = (await found.json()) as Json
    return { described: described !== undefined, ...data }
  }
  for (const dialect of Object.keys(DIALECTS)) {
    const old = { 'x-title': 'Old', 'x-openrouter-experimental-metadata': 'enabled', 'x-session-id': 'of the header' }
    const first = await rowOf(dialect, { session_id: 'of the body', user: 'somebody' }, old)
    assert.deepEqual([first.session_id, first.external_user, first.app_title], ['of the body', 'somebody', 'Old'])
    assert.equal(first.described, true)
    const own = dialect === 'messages' ? { metadata: { user_id: 'safe' } } : { safety_identifier: 'safe' }
    const second = await rowOf(
      dialect,
      { ...own, prompt_cache_key: 'of the cache' },
      {
        ...{ 'x-session-id': 'of the header', 'x-title': 'Old', 'x-openrouter-title': 'New', 'user-agent': 'mine/1' },
        ...{ 'http-referer': 'https://app.test/', 'x-openrouter-categories': 'cli-agent' },
      },
    )
    const { session_id, external_user, app_title, app_categories, http_referer, user_agent, described } = second
    assert.deepEqual(
      { session_id, external_user, app_title, app_categories, http_referer, user_agent, described },
      {
        ...{ session_id: 'of the header', external_user: 'safe', app_title: 'New', app_categories: 'cli-agent' },
        ...{ http_referer: 'https://app.test/', user_agent: 'mine/1', described: false },
      },
    )
    if (dialect === 'messages') continue
    assert.equal((await rowOf(dialect, { prompt_cache_key: 'of the cache' }, {})).session_id, 'of the cache')
  }
})

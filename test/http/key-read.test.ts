import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { StatementSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { DIALECTS } from '#test/support/client.ts'
import { openPortico } from '#test/support/portico.ts'
import { recordSpans } from '#test/support/spans.ts'
import { addWorkspaceKeys } from '#test/support/workspace-keys.ts'

const KEY = 'sk-portico-of-workspace-one'
const RPC = 'portico.identity.v1.IdentityService/'

/** Counts how often a row of a key is read from now on. */
function countKeyReads(t: TestContext): () => number {
  let reads = 0
  const { get, all } = StatementSync.prototype
  const count = (statement: StatementSync): void => {
    if (/\bfrom\s+api_keys\b/i.test(statement.sourceSQL)) reads++
  }
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...values: never[]) {
    count(this)
    return Reflect.apply(get, this, values)
  })
  t.mock.method(StatementSync.prototype, 'all', function (this: StatementSync, ...values: never[]) {
    count(this)
    return Reflect.apply(all, this, values)
  })
  return () => reads
}

test('a request for a generation reads its key once, in every dialect, whole and streamed; a run reads it again when it spends', async (t) => {
  await using spans = await recordSpans()
  const roots = JSON.stringify({ wrk_one: [realpathSync(tmpdir())] })
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer', PORTICO_PROJECT_ROOTS: roots })
  const database = addWorkspaceKeys(portico, [{ workspace: 'wrk_one', id: 'key_one', secret: KEY }])
  t.after(() => database.close())
  const reads = (): string[] => {
    const names = spans.ended().map(({ name }) => name)
    return names.filter((name) => name.startsWith(RPC)).map((name) => name.slice(RPC.length))
  }
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const send = async (path: string, body: object): Promise<void> => {
    const answer = await portico.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
  }
  const keyReads = countKeyReads(t)
  for (const [dialect, body] of Object.entries(DIALECTS)) {
    for (const stream of [false, true]) {
      // Any change of a key drops what is cached of it, so that each request has to read it.
      database.exec(`UPDATE api_keys SET name = '${dialect} ${stream}'`)
      const [calls, before] = [reads().length, keyReads()]
      await send(`/api/v1/${dialect}`, { model: 'portico/echo', stream, ...body })
      assert.deepEqual([reads().slice(calls), keyReads() - before], [['Authenticate'], 1], `${dialect} ${stream}`)
    }
  }

  await send('/api/session', { id: 'ses_key', location: { directory: portico.project } })
  await send('/api/session/ses_key/prompt', { text: '/length 2' })
  await send('/api/experimental/session/ses_key/wait', {})
  assert.equal(reads().filter((name) => name === 'CheckApiKey').length, 1)
})

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { answers, fixture, startStub } from '#test/support/provider-stub.ts'
import { waitFor } from '#test/support/wait-until.ts'

interface Commit {
  readonly at: 'begin' | 'end'
  readonly opened: number
  readonly closed: number
}

/** Starts the product with a ledger whose commits take long, and a provider that answers at once. */
async function startSlow(t: TestContext, more: Record<string, string> = {}) {
  const [data, project] = [scratchDirectory(), scratchDirectory()]
  const stub = await startStub(answers(200, fixture('responses-text.json')))
  const log = join(data.path, 'commits')
  const preload = new URL('../support/slow-commits.ts', import.meta.url).href
  const config = { OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: `${stub.url}/v1` }
  const environment = { ...config, NODE_OPTIONS: `--import=${preload}`, SLOW_COMMITS_LOG: log, ...more }
  const portico = await startSingle({ dataDirectory: data.path, project: project.path, environment })
  t.after(async () => {
    await portico.kill()
    await stub[Symbol.asyncDispose]()
    for (const folder of [data, project]) folder[Symbol.dispose]()
  })
  const headers = { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hello' }]
  return {
    portico,
    stub,
    commits: (): Commit[] =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line))
        : [],
    ask: async (): Promise<Response> => {
      const body = JSON.stringify({ model: 'openai/gpt-x', messages })
      const answer = await fetch(`${portico.url}/api/v1/chat/completions`, { method: 'POST', headers, body })
      await answer.text()
      return answer
    },
  }
}

test('while a commit of the ledger is slow, other requests are answered, no provider is called before its row is durable, and waiting rows share the next commit', async (t) => {
  const { portico, stub, commits, ask } = await startSlow(t)
  const first = ask()
  await waitFor('the first commit', () => commits().length > 0)
  const others = Array.from({ length: 10 }, ask)
  for (let i = 0; i < 20; i++) assert.equal((await fetch(`${portico.url}/livez`)).status, 200)
  const opened = { opened: 1, closed: 0 }
  // All of that was answered while the commit ran.
  assert.deepEqual([commits(), stub.seen.length], [[{ at: 'begin', ...opened }], 0])
  assert.deepEqual(
    (await Promise.all([first, ...others])).map(({ status }) => status),
    Array(11).fill(200),
  )
  const [, end, next] = commits()
  assert.deepEqual(
    [end, next],
    [
      { at: 'end', ...opened },
      { at: 'begin', opened: 10, closed: 0 },
    ],
  )
  assert.equal(await portico.stop(), 0)
  const ended = commits().filter(({ at }) => at === 'end')
  assert.deepEqual(
    [ended.reduce((sum, commit) => sum + commit.opened, 0), ended.reduce((sum, commit) => sum + commit.closed, 0)],
    [11, 11],
  )
  assert.ok(ended.length <= 4, JSON.stringify(ended))
})

test('while the disk of the ledger hangs, requests are refused in time and no provider is called; afterwards requests work again', async (t) => {
  const { portico, stub, commits, ask } = await startSlow(t, { SLOW_COMMITS_HANG_MS: '8000' })
  assert.equal((await ask()).status, 200)
  const began = () => commits().filter(({ at }) => at === 'begin').length === 2
  await waitFor('the commit that hangs', began)
  const first = await ask()
  const second = await ask()
  for (const refused of [first, second]) {
    assert.equal(refused.status, 503)
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  }
  assert.deepEqual([stub.seen.length, commits().map(({ at }) => at)], [1, ['begin', 'end', 'begin']])
  assert.equal((await fetch(`${portico.url}/livez`)).status, 200)
  await waitFor('the disk', async () => (await ask()).status === 200)
  assert.equal(stub.seen.length, 2)
  assert.equal(await portico.stop(), 0)
})

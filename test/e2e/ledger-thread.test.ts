import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { answers, fixture, startStub } from '#test/support/provider-stub.ts'
import { waitFor } from '#test/support/wait-until.ts'

interface Commit {
  readonly at: 'begin' | 'end'
  readonly opened: number
  readonly closed: number
}

test('while the disk of the ledger takes long, the event loop answers others, no provider is called before its row is durable, and what comes meanwhile shares the next commit', async (t) => {
  using data = scratchDirectory()
  using project = scratchDirectory()
  await using stub = await startStub(answers(200, fixture('responses-text.json')))
  const log = join(data.path, 'commits')
  const preload = new URL('../support/slow-commits.ts', import.meta.url).href
  const config = { OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: `${stub.url}/v1` }
  const environment = { ...config, NODE_OPTIONS: `--import=${preload}`, SLOW_COMMITS_LOG: log }
  const portico = await startSingle({ dataDirectory: data.path, project: project.path, environment })
  t.after(() => portico.kill())
  const commits = (): Commit[] =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line))
      : []
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${portico.url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-x', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await answer.text()
    return answer.status
  }
  const first = ask()
  await waitFor('the first commit', () => commits().length > 0)
  const others = Array.from({ length: 10 }, ask)
  for (let i = 0; i < 20; i++) assert.equal((await fetch(`${portico.url}/livez`)).status, 200)
  const opened = { opened: 1, closed: 0 }
  // All of that was answered while the commit ran.
  assert.deepEqual([commits(), stub.seen.length], [[{ at: 'begin', ...opened }], 0])
  assert.deepEqual(await Promise.all([first, ...others]), Array(11).fill(200))
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

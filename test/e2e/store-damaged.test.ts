import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

test('a server with a damaged or incomplete store does not start, or accepts nothing more, and says so', async () => {
  using data = scratchDirectory()
  using project = scratchDirectory()
  const product = await startSingle({ dataDirectory: data.path, project: project.path })
  const client = new InstanceClient(product.url)
  await client.createSession({ id: 'ses_1' })
  await client.prompt('ses_1', { text: 'Hello' })
  await client.wait('ses_1')
  const messages = await client.messages('ses_1')
  assert.equal(await product.stop(), 0)

  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const path = join(data.path, 'session.sqlite')
  const whole = readFileSync(path)
  const damaged = Buffer.from(whole)
  // All pages except the first, which holds the schema.
  damaged.fill(0xaa, 4_096)
  for (const [content, why] of [
    [undefined, /missing, but other parts/],
    [Buffer.alloc(0), /empty, but other parts/],
    [Buffer.alloc(whole.byteLength, 0xaa), /not a database/],
    [damaged, /malformed/],
  ] as const) {
    if (content === undefined) rmSync(path)
    else writeFileSync(path, content)
    const { code, stderr } = await runToEnd('main.ts', [project.path], environment)
    assert.equal(code, 1)
    assert.match(stderr, why)
    assert.ok(stderr.includes(path), stderr)
    assert.ok(!/^ +at /m.test(stderr) && stderr.trimEnd().split('\n').length <= 2, stderr)
  }
  writeFileSync(path, whole)
  const again = await startSingle({ dataDirectory: data.path, project: project.path })
  try {
    const reader = new InstanceClient(again.url)
    assert.deepEqual(await reader.messages('ses_1'), messages)

    await reader.prompt('ses_1', { text: '/slow 500\n/length 1000' })
    const waiting = fetch(`${again.url}/api/session/ses_1/wait`, { method: 'POST' })
    rmSync(path)
    const send = () => reader.prompt('ses_1', { text: 'lost' })
    const isRefused = () =>
      send().then(
        () => false,
        (error: Error) => /503/.test(error.message),
      )
    await waitFor('nothing is accepted any more', isRefused)
    await waitFor('it says so', async () => (await fetch(`${again.url}/readyz`)).status === 503)
    assert.equal((await waiting).status, 503)
  } finally {
    await again.stop()
  }
})

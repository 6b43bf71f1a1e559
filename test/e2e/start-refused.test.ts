import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'

test('a port in use is one line that names the setting', async () => {
  using data = scratchDirectory()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const ended = await runToEnd('main.ts', [], { PORTICO_DATA_DIR: data.path, PORTICO_PORT: String(port) })
  other.close()
  const stderr = `Port ${port} of 127.0.0.1 is in use: set PORTICO_PORT to another one\n`
  assert.deepEqual(ended, { code: 1, stdout: '', stderr })
})

test('a data folder in use is one line that names the setting, and the first server goes on', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const server = await startProcess('main.ts', environment)
  try {
    const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^[^\n]*PORTICO_DATA_DIR[^\n]*\n$/)
    assert.ok(stderr.includes(data.path))
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  } finally {
    await server.stop()
  }
})

test('an address that others can reach is not served without credentials', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0', PORTICO_HOST: '0.0.0.0' }
  const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
  assert.deepEqual([code, stdout], [1, ''])
  const why = 'PORTICO_AUTH: none is only for a loopback address, not 0.0.0.0: set basic or bearer'
  assert.equal(stderr, `The settings can't be used:\n  ${why}\n`)
})

test('all settings that cannot be used are told at once, without their values', async () => {
  using data = scratchDirectory()
  const bad = {
    PORTICO_PORT: '70000',
    PORTICO_AUTH: 'maybe',
    PORTICO_LOG_LEVEL: 'shout',
    PORTICO_BOOTSTRAP_API_KEY: 'short-one',
    PORTICO_CONFIG: '/nowhere/portico.json',
    PORTICO_PROJECT_ROOTS: '{"wrk_1": "x"}',
    PORTICO_SESSION_MAX_RUNS: '0',
  }
  const { code, stdout, stderr } = await runToEnd('main.ts', [], { PORTICO_DATA_DIR: data.path, ...bad })
  assert.deepEqual([code, stdout], [1, ''])
  const [first, ...lines] = stderr.trimEnd().split('\n')
  assert.equal(first, "The settings can't be used:")
  assert.deepEqual(lines.map((line) => /^ {2}(\w+): ./.exec(line)?.[1]).sort(), Object.keys(bad).sort())
  assert.doesNotMatch(stderr, /short-one/)
})

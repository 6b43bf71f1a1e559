import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, openCatalog, writeFiles } from '#test/support/catalog.ts'
import { waitFor } from '#test/support/wait-until.ts'

const REPORTS = `export default { id: 'reports', setup: ({ options, hook }) => hook('instructions', () => JSON.stringify(options)) }`

test('a project that is not trusted says nothing of a plugin that is', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'plugins/reports.js': REPORTS,
    'opencode.json': JSON.stringify({ plugins: [{ package: './plugins/other.mjs', options: { from: 'user' } }] }),
    'plugins/other.mjs': REPORTS.replace("'reports'", "'other'"),
  })
  const named = ['reports.js', 'other.mjs'].map((name) => join(catalog.config, 'plugins', name))
  await writeFiles(catalog.project, {
    'opencode.json': JSON.stringify({
      plugins: named.map((path) => ({ package: path, options: { from: 'project' } })),
    }),
  })
  const { plugins } = await catalog.client.listPlugins({}, asOperator)
  assert.deepEqual(
    plugins.map(({ pluginId, failure }) => [pluginId, failure?.error]),
    [
      ['other', undefined],
      ['reports', undefined],
    ],
  )
  const { instructions } = await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)
  assert.deepEqual(instructions.slice(-2), ['{"from":"user"}', 'null'])
})

test('a plugin that loads slowly is waited for once', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'plugins/slow.js': 'await new Promise((resolve) => setTimeout(resolve, 60_000))',
  })
  await catalog.client.listAgents({}, asOperator)
  const since = performance.now()
  await catalog.client.listSkills({}, asOperator)
  await catalog.client.listAgents({}, asOperator)
  assert.ok(performance.now() - since < 4_000)
})

test('a hook does not wait for longer than its limit for the process of its plugin, which does not fail', async () => {
  await using catalog = await openCatalog({ processesPerCore: 1, pluginHookSeconds: 1 })
  await writeFiles(catalog.config, {
    'plugins/waits.js': `export default { id: 'waits', setup({ tool, hook }) {
      const execute = (_, { progress }) => { progress({}); return new Promise(() => {}) }
      tool({ name: 'wait', description: 'Waits.', inputSchema: { type: 'object' }, execute })
      hook('instructions', () => 'It is here.')
    } }`,
  })
  const over = new AbortController()
  const calls = Array.from({ length: availableParallelism() }, async (_, i) => {
    const directory = join(catalog.project, String(i))
    await mkdir(directory)
    const call = { directory, name: 'wait', input: {} }
    const { accesses: grant } = await catalog.client.prepareTool(call, asOperator)
    const request = { ...call, sessionId: 'ses_1', callId: `call_${i}`, fence: 1n, grant }
    const events = catalog.client.runTool(request, { ...asOperator, signal: over.signal })[Symbol.asyncIterator]()
    await events.next()
    return events
  })
  const running = await Promise.all(calls)
  const instructed = async () =>
    (await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)).instructions.includes('It is here.')
  // The plugin was never loaded here: what it offers is not known.
  assert.equal(await instructed(), false)
  over.abort()
  for (const events of running) await assert.rejects(events.next())
  await waitFor('the plugin', instructed)
})

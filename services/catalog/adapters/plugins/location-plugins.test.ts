import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, openCatalog, rejection, runTool, writeFiles } from '#test/support/catalog.ts'
import { hostsOf } from '#test/support/plugins.ts'
import { waitFor } from '#test/support/wait-until.ts'

const REPORTS = `export default { id: 'reports', setup: ({ options, hook }) => hook('instructions', () => JSON.stringify(options)) }`

test('an untrusted project cannot change the options of a trusted plugin', async () => {
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
  const begun = performance.now()
  await catalog.client.listAgents({}, asOperator)
  const waited = performance.now() - begun
  await catalog.client.listSkills({}, asOperator)
  await catalog.client.listAgents({}, asOperator)
  assert.ok(performance.now() - begun < 2 * waited, 'two calls together take less time than the one that waits')
})

test('a hook waits no longer than its limit for a process of its plugin, and the plugin has not failed then', async () => {
  await using catalog = await openCatalog({ processesPerCore: 1, pluginHookSeconds: 1 })
  await writeFiles(catalog.config, {
    'plugins/waits.js': `export default { id: 'waits', setup({ tool, hook }) {
      const execute = (_, { progress }) => { progress({}); return new Promise(() => {}) }
      tool({ name: 'wait', description: 'Waits.', inputSchema: { type: 'object' }, execute })
      hook('instructions', () => 'It is here.')
    } }`,
  })
  await catalog.client.listTools({}, asOperator)
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
  assert.equal(await instructed(), false)
  const { hook, msg } = catalog.warnings.at(-1) ?? assert.fail()
  assert.deepEqual([hook, msg], ['instructions', 'A hook was skipped'])
  const problem = 'The plugin was not there within 2 s; the call was not begun'
  await assert.rejects(
    catalog.client.prepareTool({ name: 'wait', input: {} }, asOperator),
    rejection('TOOL_UNAVAILABLE', { name: 'wait', problem }),
  )
  over.abort()
  for (const events of running) await assert.rejects(events.next())
  await waitFor('the plugin', instructed)
})

const WHERE = `export default { id: 'where', setup({ directory, tool }) {
  tool({ name: 'where', description: 'Where it is.', inputSchema: { type: 'object' }, execute: () => directory })
} }`

test('the process of the plugins of an unused location ends, and another one begins on the next use', async () => {
  await using catalog = await openCatalog({ locationIdleSeconds: 1 })
  await writeFiles(catalog.config, {
    'plugins/pid.js': `export default { id: 'pid', setup({ tool }) {
      tool({ name: 'pid', description: 'Which process.', inputSchema: { type: 'object' }, execute: () => String(process.pid) })
    } }`,
  })
  const { text: former } = await runTool(catalog, 'pid', {})
  await waitFor('its end', async () => (await hostsOf(catalog)).length === 0)
  const { text: pid } = await runTool(catalog, 'pid', {})
  assert.match(pid, /^\d+$/)
  assert.notEqual(pid, former)
})

test('a plugin sees the same environment variables as a command', async () => {
  await using catalog = await openCatalog({ environment: { PATH: process.env.PATH ?? '', HOME: '/home/a' } })
  await writeFiles(catalog.config, {
    'plugins/env.js': `export default { id: 'env', setup({ tool }) {
      const execute = () => Object.keys(process.env).sort().join()
      tool({ name: 'env', description: 'Its environment.', inputSchema: { type: 'object' }, execute })
    } }`,
  })
  process.env.OF_THE_SERVER = 'hush'
  const { text } = await runTool(catalog, 'env', {})
  delete process.env.OF_THE_SERVER
  assert.equal(text, 'CATALOG_TOOL_CALL,HOME,PATH,PWD')
})

test('an idle location gives its process to another one, keeps its tools, and gets a process again by a call', async () => {
  await using catalog = await openCatalog({ processesPerCore: 1 })
  await writeFiles(catalog.config, { 'plugins/where.js': WHERE })
  const directories = Array.from({ length: availableParallelism() + 1 }, (_, i) => join(catalog.project, String(i)))
  for (const directory of directories) {
    await mkdir(directory)
    await catalog.client.listTools({ directory }, asOperator)
  }
  const isIdle = async (project: string) => (await hostsOf({ ...catalog, project })).length === 0
  const idle = async () => {
    const found = await Promise.all(directories.map(isIdle))
    return directories.filter((_, i) => found[i])
  }
  await waitFor('one without a process', async () => (await idle()).length === 1)
  const [directory = ''] = await idle()
  const { tools } = await catalog.client.listTools({ directory }, asOperator)
  assert.equal(tools.at(-1)?.name, 'where')
  assert.equal(await isIdle(directory), true, 'it is not started for a list')
  const call = { directory, name: 'where' }
  const { accesses: grant } = await catalog.client.prepareTool(call, asOperator)
  const run = catalog.client.runTool({ ...call, sessionId: 'ses_1', callId: 'call_1', fence: 1n, grant }, asOperator)
  const ends = await Array.fromAsync(run)
  assert.match(JSON.stringify(ends.at(-1)?.event.value), new RegExp(`"value":"${directory}"`))
})

test('plugins that listen receive the events of their location', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'plugins/listens.js': `export default { id: 'listens', setup({ on, tool }) {
      const received = []
      for (const type of ['agent.updated', 'skill.updated', 'plugin.updated', 'tool.ended'])
        on(type, (event) => received.push({ type, ...event }))
      const execute = () => JSON.stringify(received)
      tool({ name: 'received', description: 'What was observed.', inputSchema: { type: 'object' }, execute })
    } }`,
  })
  const received = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    JSON.parse((await runTool(catalog, 'received', {}, { callId: randomUUID() })).text)
  await runTool(catalog, 'list', {}, { callId: 'call_1' })
  await assert.rejects(runTool(catalog, 'read', { path: 1 }), /path/)
  assert.deepEqual(await received(), [
    { type: 'tool.ended', sessionID: 'ses_1', callID: 'call_1', tool: 'list', failed: false },
  ])
  await writeFiles(catalog.project, {
    '.opencode/agents/own.md': 'Be.',
    '.opencode/skills/own/SKILL.md': 'Do.',
  })
  await writeFiles(catalog.config, { 'plugins/other.js': `export default { id: 'other', setup() {} }` })
  await waitFor('all of it', async () => {
    const types = new Set((await received()).map(({ type }) => type))
    return ['agent.updated', 'skill.updated', 'plugin.updated'].every((type) => types.has(type))
  })
})

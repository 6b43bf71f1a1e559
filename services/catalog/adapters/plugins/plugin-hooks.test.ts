import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, openCatalog, rejection, runTool, writeFiles } from '#test/support/catalog.ts'
import { states } from '#test/support/plugins.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** A plugin with this code in its `setup`. */
const plugin = (id: string, body: string) => `export default { id: '${id}', setup({ hook, tool }) { ${body} } }`

const FAILING = {
  'exits.js': ['process.exit(3)', /exit code 3/],
  'heap.js': ['const a = []; for (;;) a.push(new Array(1e4).fill({}))', /more than 64 MiB/],
  'buffers.js': ['const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))', /more than 64 MiB/],
  'floods.js': [
    'const { parentPort } = await import("node:worker_threads"); for (;;) parentPort.postMessage("x")',
    /cannot be read|messages or/,
  ],
  'chatters.js': [
    `const { parentPort } = await import('node:worker_threads')
    parentPort.postMessage('{"type":"progress","id":0,"metadata":{}}')
    await new Promise(() => {})`,
    /it is about no call/,
  ],
  'hangs.js': ['await new Promise(() => {})', /hook instructions took longer than 10 s/],
} as const

test('a plugin that fails in a hook, in whatever way, gets the status failed with its error, and the others work', async () => {
  await using catalog = await openCatalog({ pluginHookSeconds: 10, pluginMemoryMib: 64 })
  for (const [name, [body]] of Object.entries(FAILING)) {
    const source = plugin(name.replace('.js', ''), `hook('instructions', async () => { ${body} })`)
    await writeFiles(catalog.config, { [`plugins/${name}`]: source })
  }
  await writeFiles(catalog.config, { 'plugins/good.js': plugin('good', `hook('instructions', () => 'It is here.')`) })
  const list = async () => states(await catalog.client.listPlugins({}, asOperator))
  assert.deepEqual(new Set(Object.values(await list())), new Set(['active']))
  let found: Record<string, string> = {}
  // A plugin whose process was ended by the excess of another one is silent once, and is tried again in its own.
  await waitFor('the others to have failed, and the good one to take part', async () => {
    const { instructions } = await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)
    found = await list()
    const active = Object.values(found).filter((state) => state === 'active')
    return active.length === 1 && instructions.at(-1) === 'It is here.'
  })
  for (const [name, [, error]] of Object.entries(FAILING)) assert.match(found[name] ?? '', error, name)
  assert.equal(found['good.js'], 'active')
})

test('the text that a plugin gives a call is cut, also for a failed call', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'plugins/long.js': plugin('long', `hook('tool.after', () => ({ text: 'y'.repeat(1.5e6) }))`),
  })
  await writeFiles(catalog.project, { 'a.txt': 'A' })
  const { failure } = await runTool(catalog, 'read', { path: 'missing.txt' })
  const { message = '' } = failure ?? {}
  assert.ok(message.startsWith('yyy') && message.includes('bytes left out') && message.length < 60_000)
  assert.ok((await runTool(catalog, 'read', { path: 'a.txt' })).text.length < 60_000)
})

const UNUSABLE: Readonly<Record<string, readonly [string, string]>> = {
  'long.js': [`text: 'x'.repeat(1_048_577)`, 'text is not a string of at most 1048576 characters'],
  'skill.js': [`skills: ['theirs', 'nope']`, 'there is no skill nope'],
  'agent.js': [`agents: ['build', 'nobody']`, 'there is no agent nobody'],
}

test('a plugin whose hook returns something that is not a prompt has failed, and others change the prompt', async () => {
  await using catalog = await openCatalog()
  for (const [name, [change]] of Object.entries(UNUSABLE)) {
    const source = plugin(name.replace('.js', ''), `hook('prompt', () => ({ ${change} }))`)
    await writeFiles(catalog.config, { [`plugins/${name}`]: source })
  }
  const source = plugin('works', `hook('prompt', ({ skills }) => ({ text: 'changed', skills, agents: ['plan'] }))`)
  await writeFiles(catalog.config, { 'plugins/works.js': source })
  const prompt = { text: 'Hi', skills: ['theirs'] }
  const { prompt: edited, changedBy } = await catalog.client.editPrompt({ sessionId: 's', prompt }, asOperator)
  assert.deepEqual([edited?.text, edited?.skills, edited?.agents], ['changed', ['theirs'], ['plan']])
  assert.deepEqual(changedBy, ['works'])
  const found = states(await catalog.client.listPlugins({}, asOperator))
  for (const [name, [, problem]] of Object.entries(UNUSABLE)) {
    assert.equal(found[name], `What its hook prompt returned cannot be used: ${problem}`)
  }
  assert.equal(found['works.js'], 'active')
})

test('a call of a tool whose plugin does not work reports that, and not that its input is wrong', async () => {
  await using catalog = await openCatalog()
  const tool = `tool({ name: 'act', description: 'Acts.', inputSchema: { type: 'object' }, execute() {} })`
  await writeFiles(catalog.config, {
    'plugins/throws.js': plugin('throws', `${tool}; hook('instructions', () => { throw new Error('no more') })`),
  })
  const { generation } = await catalog.client.listTools({}, asOperator)
  assert.equal((await runTool(catalog, 'act', {})).text, '(no output)', 'what a tool without a result is shown as')
  await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)
  await assert.rejects(
    catalog.client.prepareTool({ name: 'act', generation }, asOperator),
    rejection('TOOL_UNAVAILABLE', {
      name: 'act',
      problem: 'The plugin has failed: Its hook instructions threw: no more',
    }),
  )
})

test('the second of two plugins with the same id does not work until the first is gone', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, { 'plugins/a.js': plugin('same', ''), 'plugins/b.js': plugin('same', '') })
  const list = async () => states(await catalog.client.listPlugins({}, asOperator))
  const [first, second] = ['a.js', 'b.js'].map((name) => join(catalog.config, 'plugins', name))
  const error = `There is another plugin with the id same: ${first}`
  assert.deepEqual(await list(), { 'a.js': 'active', 'b.js': error })
  const ref = (await catalog.client.listPlugins({}, asOperator)).plugins[1]?.failure?.ref
  assert.deepEqual(
    catalog.warnings.map((line) => [line.plugin, line.error, line.ref]),
    [[second, error, ref]],
  )
  await rm(join(catalog.config, 'plugins/a.js'))
  assert.deepEqual(await list(), { 'b.js': 'active' })
})

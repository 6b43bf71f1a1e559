import assert from 'node:assert/strict'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { asOperator, type CatalogFixture, openCatalog, runTool, writeFiles } from '#test/support/catalog.ts'
import { hostsOf, states } from '#test/support/plugins.ts'
import { killIfAlive } from '#test/support/processes.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples/plugins', import.meta.url))

const list = async (catalog: CatalogFixture) => catalog.client.listPlugins({}, asOperator)
const greet = async (catalog: CatalogFixture) => (await runTool(catalog, 'greet', { name: 'you' })).text

test('a plugin of ten lines in the user’s folder offers a tool that asks for permission', async () => {
  await using catalog = await openCatalog()
  await mkdir(join(catalog.config, 'plugins'))
  await copyFile(join(EXAMPLES, 'greeter.mjs'), join(catalog.config, 'plugins', 'greeter.mjs'))
  assert.deepEqual(states(await list(catalog)), { 'greeter.mjs': 'active' })
  const { tools } = await catalog.client.listTools({}, asOperator)
  assert.equal(tools.at(-1)?.name, 'greet')
  const { accesses, external } = await catalog.client.prepareTool({ name: 'greet', input: { name: 'you' } }, asOperator)
  assert.ok(external)
  assert.deepEqual(
    accesses.map(({ action, resources }) => ({ action, resources })),
    [{ action: 'greet', resources: ['greeter'] }],
  )
  assert.equal(await greet(catalog), 'Hello, you!')
  const { agents } = await catalog.client.listAgents({}, asOperator)
  const { permissions } = agents[0] ?? assert.fail()
  assert.ok(permissions.some(({ action, resource }) => action === 'greet' && resource === '*'))
  await assert.rejects(runTool(catalog, 'greet', {}), /must have required property 'name'/)
})

test('plugins that a project’s files name do not run unless the project lies below a trusted directory', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.project, {
    '.opencode/plugins/mine.js': 'throw new Error("it ran")',
    'opencode.json': JSON.stringify({ plugins: ['./other.mjs', 'some-package', { package: 'https://x.y/z' }] }),
    'other.mjs': 'throw new Error("it ran")',
  })
  const found = states(await list(catalog))
  assert.deepEqual(Object.keys(found), ['other.mjs', 'some-package', 'https://x.y/z', 'mine.js'])
  for (const error of Object.values(found)) assert.match(error, /PORTICO_TRUSTED_DIRECTORIES/)
})

const FAILING = {
  'throws.js': ['throw new Error("at load")', /at load/],
  'nothing.js': ['export default 1', /no default export/],
  'exits.js': ['export default { id: "exits", setup() { process.exit(3) } }', /exit code 3/],
  'hangs.js': ['export default { id: "hangs", setup: () => new Promise(() => {}) }', /longer than 9 s to load/],
  'heap.js': ['const a = []; for (;;) a.push(new Array(1e4).fill({}))', /more than 64 MiB/],
  'buffers.js': ['const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))', /more than 64 MiB/],
  'floods.js': [
    'import { parentPort } from "node:worker_threads"; for (;;) parentPort.postMessage("x")',
    /cannot be read|no message|messages or|not valid JSON/,
  ],
  'hook.js': [
    'export default { id: "hook", setup({ hook }) { hook("tool.execute.before", () => {}) } }',
    /There is no hook tool\.execute\.before; there are prompt, tool\.before, tool\.after, instructions\./,
  ],
  'unschemed.js': [
    'export default { id: "u", setup({ tool }) { tool({ name: "t", description: "d", execute() {} }) } }',
    /^TypeError: The tool t has no inputSchema$/,
  ],
  'inert.js': [
    'export default { id: "i", setup({ tool }) { tool({ name: "t", description: "d", inputSchema: {} }) } }',
    /^TypeError: The tool t has no execute function$/,
  ],
  'agent.js': [
    'export default { id: "agent", setup({ agent }) { agent("a", { prompt: "Hi", disable: true }) } }',
    /^agents\.a: unknown keys: prompt, disable \(known keys: name, model,/,
  ],
  'opencode.js': [
    'export const MyPlugin = async ({ client }) => ({ event() {} })',
    /^Error: This looks like an OpenCode plugin/,
  ],
  'opencode.cjs': ['module.exports = async () => ({})', /^Error: This looks like an OpenCode plugin/],
  'syntax.js': [
    'export default {\n  id: "syntax",\n  setup() { const a = ; },\n}',
    /^SyntaxError: \/.*\/plugins\/syntax\.js:3: Unexpected token ';'$/,
  ],
  'types.ts': ['\nenum A { B }', /^SyntaxError: \/.*\/plugins\/types\.ts:2: TypeScript enum is not supported/],
  'schema.js': [
    'export default { id: "schema", setup({ tool }) { tool({ name: "t", description: "d", execute() {}, inputSchema: { type: "object", properties: { a: { $ref: "http://x/y" } } } }) } }',
    /\$ref|refer/,
  ],
} as const

test('a plugin that fails while it loads, in whatever way, gets the status failed with its error, and the others work', async () => {
  await using catalog = await openCatalog({ pluginLoadSeconds: 9, pluginMemoryMib: 64 })
  const sources = Object.fromEntries(Object.entries(FAILING).map(([name, [source]]) => [`plugins/${name}`, source]))
  await writeFiles(catalog.config, sources)
  await copyFile(join(EXAMPLES, 'greeter.mjs'), join(catalog.config, 'plugins', 'greeter.mjs'))
  const answer = await list(catalog)
  const found = states(answer)
  for (const [name, [, error]] of Object.entries(FAILING)) assert.match(found[name] ?? '', error, name)
  assert.equal(found['greeter.mjs'], 'active')
  for (const { failure } of answer.plugins)
    assert.ok(failure === undefined || /^err_[0-9a-f]{8}$/.test(failure.ref ?? ''))
  assert.equal(await greet(catalog), 'Hello, you!')
})

test('the examples work when they are copied, without options', async () => {
  await using catalog = await openCatalog()
  await cp(EXAMPLES, join(catalog.config, 'plugins'), { recursive: true })
  assert.deepEqual(states(await list(catalog)), { 'greeter.mjs': 'active', 'house-rules.ts': 'active' })
})

test('a .mjs plugin works below a package.json with "type": "commonjs", and the error of a .js one explains why it does not', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'package.json': '{"type":"commonjs"}',
    'plugins/exports.js': 'export default { id: "exports", setup() {} }',
    'plugins/imports.ts': 'import "node:fs"\nexport default { id: "imports", setup() {} }',
  })
  await copyFile(join(EXAMPLES, 'greeter.mjs'), join(catalog.config, 'plugins', 'greeter.mjs'))
  const found = states(await list(catalog))
  const advice =
    'Node reads this file as CommonJS; name it .mjs (.mts), or set "type": "module" in the nearest package.json'
  const folder = join(catalog.config, 'plugins')
  assert.deepEqual(found, {
    'exports.js': `SyntaxError: ${folder}/exports.js:1: Unexpected token 'export'. ${advice}`,
    'greeter.mjs': 'active',
    'imports.ts': `SyntaxError: ${folder}/imports.ts:1: Cannot use import statement outside a module. ${advice}`,
  })
})

test('a syntax error in a package that a plugin imports is reported with its place, however much was imported before', async () => {
  await using catalog = await openCatalog()
  const names = Array.from({ length: 40 }, (_, i) => `module${i}.js`)
  await writeFiles(catalog.config, {
    ...Object.fromEntries(names.map((name) => [`node_modules/many/${name}`, ''])),
    'node_modules/many/package.json': '{"type":"module","exports":"./index.js"}',
    'node_modules/many/index.js': [...names, 'bad.js'].map((name) => `import './${name}'\n`).join(''),
    'node_modules/many/bad.js': '\nexport const a = ;',
    'plugins/imports.js': `import 'many'\nexport default { id: 'imports', setup() {} }`,
  })
  const { 'imports.js': error = '' } = states(await list(catalog))
  assert.match(error, /^SyntaxError: \/.*\/node_modules\/many\/bad\.js:2: Unexpected token ';'$/)
})

test('hooks change prompts, calls and instructions; one that fails leaves its input unchanged, and is not called again', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'opencode.json': JSON.stringify({
      plugins: [{ package: join(EXAMPLES, 'house-rules.ts'), options: { secrets: ['hush'], forbidden: ['rm -rf'] } }],
    }),
    'plugins/zz.js':
      'export default { id: "zz", setup({ hook }) { hook("prompt", () => { throw new Error("no more") }) } }',
  })
  assert.deepEqual(states(await list(catalog)), { 'house-rules.ts': 'active', 'zz.js': 'active' })
  assert.deepEqual((await catalog.client.listHooks({}, asOperator)).names, [
    'prompt',
    'tool.before',
    'tool.after',
    'instructions',
  ])
  const prompt = { text: 'say hush', metadata: { a: 1 }, queued: true }
  const { prompt: edited, changedBy } = await catalog.client.editPrompt({ sessionId: 's', prompt }, asOperator)
  assert.deepEqual(changedBy, ['house-rules'])
  assert.deepEqual([edited?.text, edited?.metadata, edited?.queued], ['say [masked]', { a: 1, masked: true }, true])
  assert.match(states(await list(catalog))['zz.js'] ?? '', /hook prompt threw: no more/)
  const plain = await catalog.client.editPrompt({ sessionId: 's', prompt: { text: 'Hi' } }, asOperator)
  const { text, metadata } = plain.prompt ?? assert.fail()
  assert.deepEqual([text, metadata, plain.changedBy], ['Hi', undefined, []], 'nothing is made up')
  await assert.rejects(runTool(catalog, 'bash', { command: 'rm -rf x' }), /rm -rf is not run here/)
  assert.match((await runTool(catalog, 'bash', { command: 'echo hi' })).text, /hi.*house rules were followed/s)
  assert.match((await runTool(catalog, 'count_calls', {})).text, /1 calls have ended/)
  const { instructions } = await catalog.client.getAgent({ sessionId: 's' }, asOperator)
  assert.deepEqual(instructions.at(-1), 'Follow the house rules of this project.')
  const { agents } = await catalog.client.listAgents({}, asOperator)
  assert.ok(agents.some(({ agentId, system }) => agentId === 'reviewer' && system?.startsWith('Review')))
  const { skills } = await catalog.client.listSkills({}, asOperator)
  assert.deepEqual(
    skills.map(({ skillId }) => skillId),
    ['commit'],
  )
})

test('a plugin is reloaded when a file that it imports changes, also one that was missing or broken', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, {
    'plugins/own.ts': `import name from '../lib/name.ts'
      export default { id: 'own', setup: ({ skill }) => skill({ id: name, description: name, text: name }) }`,
  })
  const hungUp = new AbortController()
  const stream = catalog.client.streamEvents({}, { ...asOperator, signal: hungUp.signal })[Symbol.asyncIterator]()
  const update = async () => {
    for (;;) {
      const message = (await stream.next()).value?.message
      if (message?.case === 'event' && message.value.event.case === 'pluginsUpdated') return
    }
  }
  const state = async () => states(await list(catalog))['own.ts'] ?? ''
  assert.match(await state(), /Cannot find module/)
  for (const [text, expected] of [
    ['export default "one" as const', 'one'],
    ['export default "two" +', /\/lib\/name\.ts:1: Expression expected/],
    ['export default "three"', 'three'],
  ] as const) {
    const updated = update()
    await writeFiles(catalog.config, { 'lib/name.ts': text })
    await updated
    if (typeof expected !== 'string') assert.match(await state(), expected)
    else {
      assert.equal(await state(), 'active')
      const { skills } = await catalog.client.listSkills({}, asOperator)
      assert.deepEqual(
        skills.map(({ skillId }) => skillId),
        [expected],
      )
    }
  }
  hungUp.abort()
})

const TRAPS = `export default { id: 'traps', setup({ tool }) {
  const inputSchema = { type: 'object' }
  const add = (name, execute) => tool({ name, description: name, inputSchema, execute })
  add('loop', () => { for (;;); })
  add('unreadable', () => { throw new Proxy(new Error('x'), { get() { throw new Error('no') } }) })
  add('wait', (_, { progress }) => { progress({ waits: true }); return new Promise(() => {}) })
} }`

test('the calls in a process that is killed fail, another process begins when it is needed, and none is left over', async () => {
  await using catalog = await openCatalog({ pluginHookSeconds: 5 })
  await writeFiles(catalog.config, { 'plugins/traps.js': TRAPS })
  await copyFile(join(EXAMPLES, 'greeter.mjs'), join(catalog.config, 'plugins', 'greeter.mjs'))
  await list(catalog)
  const { accesses: grant } = await catalog.client.prepareTool({ name: 'wait' }, asOperator)
  const run = { name: 'wait', sessionId: 'ses_1', callId: 'call_1', fence: 1n, grant }
  let failure = ''
  for await (const { event } of catalog.client.runTool(run, asOperator)) {
    if (event.case === 'progressed') for (const host of await hostsOf(catalog)) killIfAlive(host)
    else if (event.case === 'failed') failure = event.value.message
  }
  assert.match(failure, /process of the plugin has ended; what the call has done is unknown/)
  assert.equal(await greet(catalog), 'Hello, you!')
  assert.deepEqual(Object.values(states(await list(catalog))), ['active', 'active'])
  const { failure: unreadable } = await runTool(catalog, 'unreadable', {})
  assert.equal(unreadable?.message, 'It threw something that cannot be read')
  assert.equal(states(await list(catalog))['traps.js'], 'active')
  assert.match((await runTool(catalog, 'loop', {})).failure?.message ?? '', /kept its thread busy/)
  assert.match(states(await list(catalog))['traps.js'] ?? '', /kept its thread busy/)
  assert.equal(await greet(catalog), 'Hello, you!')
  await writeFiles(catalog.config, { 'plugins/traps.js': `${TRAPS} // better` })
  assert.equal(states(await list(catalog))['traps.js'], 'active')
  await catalog[Symbol.asyncDispose]()
  assert.deepEqual(await hostsOf(catalog), [])
})

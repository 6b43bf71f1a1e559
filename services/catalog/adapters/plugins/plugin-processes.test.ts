import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asOperator,
  type CatalogFixture,
  longSleep,
  openCatalog,
  processesWith,
  runTool,
  writeFiles,
} from '#test/support/catalog.ts'
import { hostsOf, states } from '#test/support/plugins.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** A plugin with tools, each `name(input, context) { … }`. */
const plugin = (id: string, tools: string, more = '') => `import { execSync } from 'node:child_process'
export default { id: '${id}', setup({ tool, hook }) {
  const tools = { ${tools} }
  const common = { description: 'A tool.', inputSchema: { type: 'object' } }
  for (const [name, execute] of Object.entries(tools)) tool({ ...common, name, execute })
  ${more}
} }`

const INNOCENT = plugin(
  'innocent',
  `hello: () => 'Hello!',
  wait(_, { progress }) {
    setInterval(() => progress({}), 50)
    return new Promise(() => {})
  }`,
)

const stateOf = async ({ client }: CatalogFixture) => states(await client.listPlugins({}, asOperator))

/** Begins a call that does not end by itself; returns how it ended. */
async function waiting(
  catalog: CatalogFixture,
  signal?: AbortSignal,
  callId = 'waiting',
): Promise<{ readonly end: Promise<string> }> {
  const { accesses: grant } = await catalog.client.prepareTool({ name: 'wait' }, asOperator)
  const request = { name: 'wait', sessionId: 'ses_1', callId, fence: 1n, grant }
  const events = catalog.client.runTool(request, { ...asOperator, ...(signal && { signal }) })[Symbol.asyncIterator]()
  await events.next()
  const end = async () => {
    for await (const { event } of { [Symbol.asyncIterator]: () => events }) {
      if (event.case === 'failed') return event.value.message
    }
    return ''
  }
  return { end: end() }
}

const GUILTY: Readonly<Record<string, readonly [string, RegExp]>> = {
  'ends its process later': [
    `act() { setTimeout(() => execSync('kill -SEGV ' + process.pid), 200) }`,
    /It ended its process: SIGSEGV/,
  ],
  'writes to the channel of its process': [
    `act() {
      for (let run = 1; run < 9; run++) {
        process.getBuiltinModule('fs').writeSync(4, JSON.stringify({ run, type: 'failed', error: 'forged' }) + '\\n')
      }
    }`,
    /It ended its process: something else wrote to its channel \(a message that the process did not send\)/,
  ],
  'takes memory outside of its thread': [
    `act() { globalThis.kept = new Uint8Array(new SharedArrayBuffer(320 << 20)).fill(1) }`,
    /It took more than|Its process took \d+ MiB outside of its thread/,
  ],
}

for (const [what, [tool, error]] of Object.entries(GUILTY)) {
  test(`no plugin is failed when one of several in a process ${what}; the one that did is when it runs alone`, async () => {
    await using catalog = await openCatalog({ pluginMemoryMib: 64 })
    await writeFiles(catalog.config, { 'plugins/guilty.js': plugin('guilty', tool), 'plugins/innocent.js': INNOCENT })
    await stateOf(catalog)
    const { end } = await waiting(catalog)
    await runTool(catalog, 'act', {})
    assert.match(await end, /process of the plugin has ended/)
    assert.deepEqual(await stateOf(catalog), { 'guilty.js': 'active', 'innocent.js': 'active' })
    assert.equal((await runTool(catalog, 'hello', {})).text, 'Hello!')
    await runTool(catalog, 'act', {})
    await waitFor('the guilty one', async () => error.test((await stateOf(catalog))['guilty.js'] ?? ''))
    assert.equal((await runTool(catalog, 'hello', {})).text, 'Hello!')
    assert.equal((await stateOf(catalog))['innocent.js'], 'active')
  })
}

test('a suspended process is ended, and no plugin is failed for it, neither for a hook nor for a tool', async () => {
  await using catalog = await openCatalog({ pluginHookSeconds: 1 })
  const stop = `execSync('kill -STOP ' + process.pid)`
  const hook = (body: string) => `hook('instructions', () => { ${body} })`
  await writeFiles(catalog.config, {
    'plugins/guilty.js': plugin('guilty', `act() { ${stop} }`, hook(stop)),
    'plugins/innocent.js': plugin('innocent', `hello: () => 'Hello!'`, hook(`return 'It is here.'`)),
  })
  const both = { 'guilty.js': 'active', 'innocent.js': 'active' }
  await stateOf(catalog)
  await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)
  assert.deepEqual(await stateOf(catalog), both)
  assert.match((await runTool(catalog, 'act', {})).failure?.message ?? '', /process of the plugin has ended/)
  assert.deepEqual(await stateOf(catalog), both)
  // Its next process may take longer to start than a call waits for it.
  const greeted = async (): Promise<boolean> =>
    runTool(catalog, 'hello', {}).then(
      ({ text }) => text === 'Hello!',
      () => false,
    )
  await waitFor('the next process', greeted)
  assert.equal((await hostsOf(catalog)).length, 1)
})

test('a plugin that blocks in native code is failed like one in a loop, and the time limits of the others still hold', async () => {
  await using catalog = await openCatalog({ pluginHookSeconds: 4, pluginMemoryMib: 64 })
  const seconds = longSleep()
  const fill = `fill() {
    const kept = globalThis.kept = []
    setInterval(() => kept.length < 150 && kept.push(Buffer.alloc(1 << 20, 1)), 5)
  }`
  await writeFiles(catalog.config, {
    'plugins/waits.js': plugin('waits', `block() { execSync('sleep ${seconds}') }`),
    'plugins/fills.js': plugin('fills', fill),
  })
  await stateOf(catalog)
  const blocked = runTool(catalog, 'block', {})
  await waitFor('its wait', async () => (await processesWith(seconds)).length > 0)
  await runTool(catalog, 'fill', {})
  await waitFor('the one that fills memory', async () => /than 64 MiB/.test((await stateOf(catalog))['fills.js'] ?? ''))
  assert.match((await blocked).failure?.message ?? '', /kept its thread busy for more than 3\.2 s/)
  await waitFor('the end of what it waits for', async () => (await processesWith(seconds)).length === 0)
})

test('a failed plugin’s processes end once the others in its process are idle', async () => {
  await using catalog = await openCatalog()
  const seconds = longSleep()
  const start = `spawn('sleep', ['${seconds}'])
  hook('instructions', () => { throw new Error('no more') })`
  await writeFiles(catalog.config, {
    'plugins/guilty.js': plugin('guilty', '', start).replace('execSync', 'spawn'),
    'plugins/innocent.js': INNOCENT,
  })
  await stateOf(catalog)
  assert.equal((await processesWith(seconds)).length, 1)
  const left = new AbortController()
  const { end } = await waiting(catalog, left.signal)
  const other = await waiting(catalog, undefined, 'other')
  await catalog.client.getAgent({ sessionId: 'ses_1' }, asOperator)
  assert.equal((await processesWith(seconds)).length, 1, 'a call of another plugin goes on')
  left.abort()
  await assert.rejects(end)
  assert.match(
    await other.end,
    /^Another call of the plugin did not end with its abort; what the call has done is unknown$/,
  )
  await waitFor('the end of all', async () => (await processesWith(seconds)).length === 0)
  assert.equal((await runTool(catalog, 'hello', {})).text, 'Hello!')
  assert.match((await stateOf(catalog))['guilty.js'] ?? '', /no more/)
})

test('a call fails when its plugin changes meanwhile, and reports that its effects are unknown', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.config, { 'plugins/innocent.js': INNOCENT })
  await stateOf(catalog)
  const { end } = await waiting(catalog)
  await writeFiles(catalog.config, { 'plugins/innocent.js': `${INNOCENT} // changed` })
  assert.equal((await stateOf(catalog))['innocent.js'], 'active')
  assert.equal(await end, 'The plugin was changed or removed; what the call has done is unknown')
})

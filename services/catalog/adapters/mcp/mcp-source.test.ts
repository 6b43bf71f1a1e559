import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Config } from '#services/catalog/config.ts'
import {
  asOperator,
  type CatalogFixture,
  openCatalog,
  processesWith,
  runTool,
  writeFiles,
} from '#test/support/catalog.ts'
import { configureMcp, mcpServers, scriptedServer } from '#test/support/mcp.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

/** A catalog with a folder for the logs of scripted servers. */
async function begin(t: TestContext, overrides: Partial<Config> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'portico-mcp-'))
  const catalog = await openCatalog(overrides)
  t.after(async () => {
    await catalog[Symbol.asyncDispose]()
    assert.deepEqual(await processesWith(folder), [], 'nothing stays behind')
    await rm(folder, { recursive: true })
  })
  return { catalog, folder, server: scriptedServer(folder) }
}

const toolNames = async ({ client }: CatalogFixture) =>
  (await client.listTools({}, asOperator)).tools.map(({ name }) => name).filter((name) => name.includes('_'))

test('offers a server’s tool beside a plugin’s tool of the same name', async (t) => {
  const { catalog, server } = await begin(t)
  await configureMcp(catalog.config, { s: server.entry })
  await writeFiles(catalog.config, {
    'plugins/own.js': `export default { id: 'own', setup: ({ tool }) => tool({
      name: 's_pid', description: 'Mine', inputSchema: { type: 'object' }, execute: () => 'mine' }) }`,
  })
  await waitFor('the server', async () => (await toolNames(catalog)).includes('s_wait'))
  const names = await toolNames(catalog)
  assert.deepEqual(names, ['s_pid', 's_wait', 's_die', 's_grow', 's_env', 's_bad', 's_pid_2'])
  assert.equal((await runTool(catalog, 's_pid', {})).text, 'mine')
  assert.match((await runTool(catalog, 's_pid_2', {})).text, /^\d+$/)
})

test('when a server ends during a call, the call failed, was sent once, and the server comes back with its tools', async (t) => {
  const { catalog, server } = await begin(t)
  await configureMcp(catalog.config, { s: server.entry })
  assert.deepEqual(await toolNames(catalog), ['s_wait', 's_die', 's_grow', 's_env', 's_bad', 's_pid'])
  const { failure } = await runTool(catalog, 's_die', {})
  assert.equal(failure?.type, 'outcome_unknown')
  assert.match(failure.message, /what it has done is unknown, and it was not sent again$/)
  assert.match((await mcpServers(catalog)).s?.error ?? '', /^it ended with exit code 3 \(next try in 1 s\)$/)
  assert.match(catalog.warnings.find(({ server }) => server === 's')?.error ?? '', /^it ended with exit code 3/)
  assert.equal((await toolNames(catalog)).length, 6, 'what is known stays known')
  assert.match((await runTool(catalog, 's_pid', {})).text, /^\d+$/)
  assert.deepEqual(
    (await server.lines()).map((line) => line.split(' ')[2]),
    ['die', 'pid'],
  )
  const { text } = await runTool(catalog, 's_env', {})
  assert.deepEqual(
    Object.keys(JSON.parse(text)).filter((name) => /KEY|SECRET|PORTICO|NODE_/.test(name)),
    [],
  )
})

test('a server that hangs in a call is started anew, and one that is only slow goes on', async (t) => {
  const { catalog, folder } = await begin(t)
  const entry = (mode: string) => ({ ...scriptedServer(folder, mode).entry, timeout: 2_000 })
  await configureMcp(catalog.config, { hung: entry('hangs'), slow: entry('slow') })
  await waitFor('both', async () => (await toolNames(catalog)).length === 12)
  const pid = async (server: string) => (await runTool(catalog, `${server}_pid`, {})).text
  const before = [await pid('hung'), await pid('slow')]
  const waits = ['hung', 'slow'].map((server) => runTool(catalog, `${server}_wait`, {}))
  for (const { failure } of await Promise.all(waits))
    assert.match(failure?.message ?? '', /silent for more than 2000 ms; the call was cancelled/)
  await waitFor('another process', async () => {
    const now = await pid('hung')
    return /^\d+$/.test(now) && now !== before[0]
  })
  assert.equal(await pid('slow'), before[1])
})

test('an abort reaches the server, progress is passed on, and an answer of any kind is bounded', async (t) => {
  const { catalog, server } = await begin(t)
  await configureMcp(catalog.config, { s: { ...server.entry, environment: { OWN: 'v' } } })
  await toolNames(catalog)
  const aborting = new AbortController()
  const running = runTool(catalog, 's_wait', {}, { signal: aborting.signal })
  await waitFor('the call', async () => (await server.lines()).length > 0)
  aborting.abort()
  await assert.rejects(running)
  await waitFor('the cancellation', async () => (await server.lines()).some((line) => line.startsWith('cancelled')))
  const { progress } = await runTool(catalog, 's_wait', { ms: 400 })
  assert.deepEqual(progress, [{ progress: 1, total: 2, message: 'half' }])
  const bad = await runTool(catalog, 's_bad', {})
  assert.equal(bad.failure?.message, 'The tool reports an error')
  assert.ok(
    bad.text.length < 60_000 && bad.text.endsWith('(a part of the result was left out)\nfile:///a/b.txt\ninside'),
  )
  assert.deepEqual(
    bad.files.map(({ mime }) => mime),
    ['text/plain'],
    'what is no image is not said to be one',
  )
  assert.equal(JSON.parse((await runTool(catalog, 's_env', {})).text).OWN, 'v')
})

test('new tools of a server count from the next step, with an event', async (t) => {
  const { catalog, server } = await begin(t)
  await configureMcp(catalog.config, { s: server.entry })
  const leave = new AbortController()
  const before = (await catalog.client.getAgent({ forStep: true }, asOperator)).generation
  const events: string[] = []
  const listening = (async () => {
    for await (const { message } of catalog.client.streamEvents({}, { ...asOperator, signal: leave.signal })) {
      if (message.case === 'event') events.push(`${message.value.event.case}`)
      if (message.case === 'connected') void runTool(catalog, 's_grow', { name: 'ne w' })
    }
  })()
  await waitFor('the event', () => events.includes('mcpToolsChanged'))
  leave.abort()
  await listening.catch(() => {})
  assert.notEqual((await catalog.client.getAgent({ forStep: true }, asOperator)).generation, before)
  const added = (await toolNames(catalog)).at(-1) ?? ''
  assert.match(added, /^s__ne-w_[0-9a-f]{16}$/)
  assert.equal((await runTool(catalog, added, {})).text, 'ne w was called')
})

test('a noisy, endless, silent or hostile server is bounded, and does not affect other servers', async (t) => {
  const { catalog, folder, server } = await begin(t)
  const entry = (mode: string) => scriptedServer(folder, mode).entry
  await configureMcp(catalog.config, {
    ...{ s: server.entry, noisy: entry('noisy'), endless: entry('endless'), hostile: entry('hostile') },
    ...{
      silent: { ...entry('silent'), timeout: 300 },
      foreign: entry('foreign'),
      line: entry('line'),
      nothing: { ...server.entry, command: ['nothing-of-this-name'] },
    },
    ...{ far: { type: 'remote', url: 'http://127.0.0.1:1/mcp' }, wrong: { type: 'local' } },
  })
  await mcpServers(catalog)
  const failures = {
    silent: /Request timed out/,
    foreign: /^It answered with something else than the protocol has \(next try/,
    line: /it sent a message of more than 16777216 bytes/,
    nothing: /it ended with exit code 127: .*nothing-of-this-name/,
    far: /ECONNREFUSED|bad port/,
    wrong: /`command` must be an array/,
  }
  // Some are connected before they fail.
  const servers = await waitUntil('the failures, and the others to be connected', async () => {
    const all = await mcpServers(catalog)
    const isSettled = Object.entries(all).every(
      ([name, { status }]) => status === (name in failures ? Status.FAILED : Status.CONNECTED),
    )
    return isSettled ? all : undefined
  })
  for (const [name, error] of Object.entries(failures)) assert.match(servers[name]?.error ?? '', error)
  const counts = ({ toolCount, omittedCount, omittedTools }: (typeof servers)[string]) => [
    toolCount,
    omittedCount,
    omittedTools.length,
  ]
  assert.deepEqual(servers.endless && counts(servers.endless), [256, 10_000, 20])
  assert.deepEqual([servers.hostile?.toolCount, servers.hostile?.omittedTools], [1, ['deep', '?', '?', 'none']])
  const warning = catalog.warnings.find((line) => 'server' in line && line.server === 'endless')
  assert.deepEqual(
    warning && { ...warning, names: undefined, count: 'count' in warning && warning.count }.count,
    10_000,
  )
})

test('a project’s file may name servers only below a trusted directory, and a change of the configuration takes effect', async (t) => {
  const { catalog, server } = await begin(t)
  await configureMcp(catalog.project, { s: server.entry, far: { type: 'remote', url: 'http://127.0.0.1:1' } })
  const { s, far } = await mcpServers(catalog)
  for (const one of [s, far]) {
    assert.equal(one?.status, Status.FAILED)
    assert.match(one.error ?? '', /opencode.json is not trusted: add a directory .* PORTICO_TRUSTED_DIRECTORIES/)
  }
  assert.deepEqual(await server.lines(), [])
  await configureMcp(catalog.config, { own: server.entry })
  assert.equal((await mcpServers(catalog)).own?.status, Status.CONNECTED)
  assert.ok((await toolNames(catalog)).includes('own_pid'))
  await configureMcp(catalog.config, {})
  assert.deepEqual(await toolNames(catalog), [])
  await waitFor('its process to end', async () => (await processesWith('mcp-.log')).length === 0)
})

test('a project’s file below a trusted directory names servers', async (t) => {
  const { catalog, server } = await begin(t, { trustedDirectories: [tmpdir()] })
  await configureMcp(catalog.project, { s: server.entry })
  assert.equal((await mcpServers(catalog)).s?.status, Status.CONNECTED)
})

test('an idle server gives its place to another one, keeps its tools, and is started again by a call', async (t) => {
  const { catalog, server } = await begin(t, { processesPerCore: 1 })
  const count = availableParallelism() + 1
  await configureMcp(
    catalog.config,
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, server.entry])),
  )
  assert.equal((await toolNames(catalog)).length, count * 6)
  const idle = Object.values(await mcpServers(catalog)).filter(({ status }) => status === Status.IDLE)
  assert.equal(idle.length, 1)
  assert.match((await runTool(catalog, `${idle[0]?.name}_pid`, {})).text, /^\d+$/)
})

test('the processes of an unused location end; on its next use its tools are available before its servers are', async (t) => {
  const { catalog, server, folder } = await begin(t, { locationIdleSeconds: 1 })
  await configureMcp(catalog.config, { s: server.entry })
  const before = await toolNames(catalog)
  const { text: former } = await runTool(catalog, 's_pid', {})
  await waitFor('the process to end', async () => (await processesWith(folder)).length === 0)
  assert.deepEqual(await toolNames(catalog), before)
  assert.equal((await mcpServers(catalog)).s?.status, Status.STARTING)
  const { text: pid } = await runTool(catalog, 's_pid', {})
  assert.match(pid, /^\d+$/)
  assert.notEqual(pid, former)
})

test('a location that is rebuilt has new servers, and the former ones end', async (t) => {
  const { catalog, server, folder } = await begin(t)
  await configureMcp(catalog.config, { s: server.entry })
  await toolNames(catalog)
  const pid = async () => (await runTool(catalog, 's_pid', {})).text
  const former = await pid()
  await writeFiles(catalog.config, {
    'plugins/slow.js': 'export default { id: "slow", setup: () => new Promise((resolve) => setTimeout(resolve, 300)) }',
  })
  const reloading = catalog.client.reloadLocations({}, asOperator)
  const pause = () => Promise.race([reloading.then(() => true), delay(10, false)])
  while (!(await pause())) assert.equal((await mcpServers(catalog)).s?.status, Status.CONNECTED)
  assert.equal((await toolNames(catalog)).length, 6)
  assert.equal((await mcpServers(catalog)).s?.status, Status.CONNECTED)
  assert.notEqual(await pid(), former)
  await waitFor('one process', async () => (await processesWith(folder)).length === 1)
})

test('agents are listed without starting a server', async (t) => {
  const { catalog, server, folder } = await begin(t)
  await configureMcp(catalog.config, { s: server.entry })
  await catalog.client.listAgents({}, asOperator)
  await catalog.client.getAgent({}, asOperator)
  assert.deepEqual(await processesWith(folder), [])
})

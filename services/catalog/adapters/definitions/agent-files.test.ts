import assert from 'node:assert/strict'
import { mkdir, mkdtemp, open as openFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeFiles } from '#test/support/catalog.ts'
import { locationAt } from '#test/support/location.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { agentFiles } from './agent-files.ts'
import { FileSource } from './file-source.ts'

/** Agents of locations in a folder of the test, with at most this many watches. */
async function begin(t: TestContext, limit?: number) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'portico-agents-')))
  t.after(() => rm(folder, { recursive: true }))
  const watchers = new DirectoryWatchers(limit)
  const configDirectory = join(folder, 'none/config')
  const agents = new FileSource(agentFiles(configDirectory), { logger: silentLogger, watchers })
  const open = async (name: string) => {
    const directory = join(folder, name)
    await mkdir(directory, { recursive: true })
    const source = agents.open(locationAt(directory), () => void signals.count++)
    const signals = { count: 0 }
    const digest = async () => (await source.read()).digest
    return { directory, source, signals, digest }
  }
  return { folder, watchers, open }
}

/** Waits until a location is watched: it signals once when its watch begins. */
const watched = ({ signals }: { signals: { count: number } }) => waitFor('a watch', () => signals.count > 0)

test('a thousand locations hold a bounded number of watches, notice changes, and release all', async (t) => {
  const { watchers, open } = await begin(t, 960)
  const locations = await Promise.all(Array.from({ length: 1_000 }, (_, i) => open(`projects/${i}`)))
  for (const location of locations) await location.digest()
  await Promise.all(locations.map(watched))
  assert.equal(watchers.size, 960)
  // One that is watched, and one that has to poll.
  for (const location of [locations[0], locations[999]]) {
    assert.ok(location)
    const before = await location.digest()
    const { count } = location.signals
    await writeFiles(location.directory, { 'opencode.json': '{"agents":{"own":{}}}' })
    await waitFor('a signal', () => location.signals.count > count)
    assert.notEqual(await location.digest(), before)
  }
  for (const { source } of locations) source[Symbol.dispose]()
  await waitFor('the watches are released', () => watchers.size === 0)
})

test('files that define no agents cause no signal', async (t) => {
  const { open } = await begin(t)
  const location = await open('project')
  await location.digest()
  await watched(location)
  const { count } = location.signals
  await writeFiles(location.directory, { 'README.md': '', 'src/a.ts': '', 'node_modules/b/opencode.json': '' })
  await writeFiles(location.directory, { 'opencode.jsonc': '{}' })
  await waitFor('a signal', () => location.signals.count > count)
  // The system reports in order, and a file causes at most these: created, changed, changed.
  assert.ok(location.signals.count <= count + 3, `${location.signals.count - count} signals`)
})

test('locations of one project share the watches of their common places', async (t) => {
  const { watchers, open, folder } = await begin(t)
  await writeFiles(folder, { 'none/config/agents/a.md': 'A.' })
  const one = await open('one')
  await one.digest()
  await watched(one)
  const { size } = watchers
  const two = await open('two')
  await two.digest()
  await watched(two)
  assert.equal(watchers.size, size + 1)
  one.source[Symbol.dispose]()
  const { count } = two.signals
  await writeFiles(folder, { 'none/config/agents/a.md': 'B.' })
  await waitFor('a signal to the other', () => two.signals.count > count)
  two.source[Symbol.dispose]()
  assert.equal(watchers.size, 0)
})

test('a location that is closed while it is being opened leaves no watch', async (t) => {
  const { watchers, open } = await begin(t)
  const location = await open('project')
  const reading = location.digest()
  location.source[Symbol.dispose]()
  await reading
  const other = await open('other')
  await other.digest()
  await watched(other)
  other.source[Symbol.dispose]()
  assert.equal(watchers.size, 0)
})

test('a file that vanishes while it is looked for is skipped', { skip: process.platform !== 'linux' }, async (t) => {
  const { folder, open } = await begin(t)
  const location = await open('project')
  const path = join(folder, 'vanished.md')
  await writeFiles(location.directory, { '.opencode/agent/stays.md': 'Stay.' })
  // It has a size, but no path any more.
  await using file = await openFile(path, 'w')
  await rm(path)
  await symlink(`/proc/self/fd/${file.fd}`, join(location.directory, '.opencode/agent/gone.md'))
  const { value } = await location.source.read()
  const ids = value.flatMap(({ agents }) => [...agents.keys()])
  assert.deepEqual([ids.includes('stays'), ids.includes('gone')], [true, false])
})

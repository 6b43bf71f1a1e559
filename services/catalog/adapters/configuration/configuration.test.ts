import assert from 'node:assert/strict'
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeFiles } from '#test/support/catalog.ts'
import { locationAt } from '#test/support/location.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { Configuration } from './configuration.ts'
import { TrustedDirectories } from './trusted-directories.ts'

/**
 * A project `project` with the location `project/app`, and the user's `config`; `trusted` are names in the same folder.
 */
async function begin(t: TestContext, trusted: readonly string[] = []) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'portico-configuration-')))
  t.after(() => rm(folder, { recursive: true }))
  await writeFiles(folder, { 'project/app/README.md': '' })
  const watchers = new DirectoryWatchers()
  const configuration = new Configuration({
    configDirectory: join(folder, 'config'),
    trusted: new TrustedDirectories(trusted.map((name) => join(folder, name))),
    watchers,
    variable: (name) => ({ NAME: 'portico' })[name],
  })
  const location = locationAt(join(folder, 'project/app'), join(folder, 'project'))
  const signals = { count: 0 }
  const open = configuration.open(location, () => void signals.count++)
  t.after(() => open[Symbol.dispose]())
  const read = async () =>
    (await open.read()).map(({ path, trusted, value }) => [path.slice(folder.length + 1), trusted, value.a])
  return { folder, open, read, signals }
}

test('documents are in order of rising precedence, each with its path; the user’s own are trusted', async (t) => {
  const { folder, read } = await begin(t)
  const files = [
    ...['config/opencode.json', 'config/opencode.jsonc', 'project/opencode.json', 'project/app/opencode.json'],
    ...['project/.opencode/opencode.json', 'project/app/.opencode/opencode.jsonc'],
  ]
  for (const [i, file] of files.entries()) await writeFiles(folder, { [file]: `{"a":${i}, /* why */}` })
  assert.deepEqual(
    await read(),
    files.map((file, i) => [file, file.startsWith('config/'), i]),
  )
})

test('a project’s documents are trusted below a trusted directory, by real paths', async (t) => {
  const { folder, read } = await begin(t, ['linked', 'not-there', 'proj'])
  await writeFiles(folder, { 'project/opencode.json': '{}', 'project/app/opencode.json': '{}', 'config/a.json': '{}' })
  const trusted = async () => (await read()).map(([, trusted]) => trusted)
  assert.deepEqual(await trusted(), [false, false])
  await symlink(join(folder, 'project/app'), join(folder, 'linked'))
  await writeFiles(folder, { 'project/opencode.json': '{"a":1}' })
  assert.deepEqual(await trusted(), [false, true])
  // A link out of the project is not followed, wherever it leads.
  await symlink(join(folder, 'config/a.json'), join(folder, 'project/opencode.jsonc'))
  assert.deepEqual((await read()).length, 2)
})

test('an unreadable document counts as it was before, or else not at all; a change is a signal', async (t) => {
  const { folder, open, read, signals } = await begin(t)
  await writeFiles(folder, { 'project/opencode.json': '{"a":1}', 'project/opencode.jsonc': '[]' })
  const documents = await open.read()
  assert.deepEqual(await read(), [['project/opencode.json', false, 1]])
  await waitFor('a watch', () => signals.count > 0)
  assert.equal(await open.read(), documents, 'nothing has changed')
  const { count } = signals
  await writeFiles(folder, { 'project/opencode.json': '{"a":2' })
  await waitFor('a signal', () => signals.count > count)
  assert.deepEqual(await read(), [['project/opencode.json', false, 1]])
  await rm(join(folder, 'project/opencode.json'))
  assert.deepEqual(await read(), [])
})

test('`{env:NAME}` stands for a variable in documents that are trusted; one that is not set stays', async (t) => {
  const { folder, read } = await begin(t)
  const text = JSON.stringify({ a: { list: ['Bearer {env:NAME}', '{env:UNSET}', 1] } })
  await writeFiles(folder, { 'config/opencode.json': text, 'project/opencode.json': text })
  assert.deepEqual(await read(), [
    ['config/opencode.json', true, { list: ['Bearer portico', '{env:UNSET}', 1] }],
    ['project/opencode.json', false, { list: ['Bearer {env:NAME}', '{env:UNSET}', 1] }],
  ])
})

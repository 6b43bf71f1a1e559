import assert from 'node:assert/strict'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { untrustedProblem } from '#services/catalog/domain/configuration.ts'
import { writeFiles } from '#test/support/catalog.ts'
import { locationAt } from '#test/support/location.ts'
import { TrustedDirectories } from '../configuration/trusted-directories.ts'
import { findPlugins } from './plugin-files.ts'

test('64 plugins of a location run; those of an untrusted project take no place from others, and the rest are listed', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'portico-plugins-'))
  t.after(() => rm(home, { recursive: true }))
  await writeFiles(home, { 'config/plugins/guard.js': '' })
  const options = { configDirectory: join(home, 'config'), home, trusted: new TrustedDirectories([]) }
  const location = locationAt(home)
  const names = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`)
  const document = (plugins: readonly string[], trusted: boolean) => ({ path: '/a.json', value: { plugins }, trusted })
  const find = async (...documents: readonly ReturnType<typeof document>[]) =>
    (await findPlugins(options, location, documents)).declared.map(({ origin, problem }) => [
      origin.type === 'local' ? 'guard.js' : origin.target,
      problem,
    ])

  const beside = await find(document(names('theirs', 100), false))
  assert.equal(beside.length, 65)
  assert.deepEqual(beside.at(-1), ['guard.js', undefined])
  assert.match(String(beside[0]?.[1]), /not trusted/)

  const crowd = await find(document(names('own', 70), true))
  assert.deepEqual(crowd.slice(63, 65), [
    ['own-63', undefined],
    ['own-64', 'A location has at most 64 plugins'],
  ])
  assert.equal(crowd.length, 71)

  // All of these places are checked whenever an agent edits a file.
  const files = document(names('./file', 1_000), false)
  const { places } = await findPlugins(options, location, [files])
  assert.equal(places.length, 2 + 64 + 1)
})

test('a link in an untrusted project does not make plugins of files in a trusted directory', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-plugins-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFiles(folder, { 'trusted/scripts/clean.js': '', 'theirs/README.md': '', 'trusted/own/README.md': '' })
  const options = {
    configDirectory: join(folder, 'config'),
    home: folder,
    trusted: new TrustedDirectories([join(folder, 'trusted')]),
  }
  const findIn = async (directory: string) => {
    await symlink(join(folder, 'trusted/scripts'), join(directory, 'plugins'))
    await symlink('.', join(directory, '.opencode'))
    const { declared } = await findPlugins(options, locationAt(directory), [])
    return declared.map(({ problem }) => problem)
  }
  const path = join(folder, 'theirs/.opencode/plugins/clean.js')
  assert.deepEqual(await findIn(join(folder, 'theirs')), [untrustedProblem(path)])
  assert.deepEqual(await findIn(join(folder, 'trusted/own')), [undefined])
})

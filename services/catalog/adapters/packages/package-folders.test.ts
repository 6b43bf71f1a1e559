import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parsePackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import { processMark } from '../files/process-mark.ts'
import { PackageFolders } from './package-folders.ts'

const specifier = parsePackageSpecifier('@acme/plugin@^1')

async function begin(t: TestContext) {
  const root = join(await mkdtemp(join(tmpdir(), 'portico-folders-')), 'plugins')
  t.after(() => rm(join(root, '..'), { recursive: true }))
  const folders = new PackageFolders(root)
  const install = async (version: string) => {
    const path = await folders.make(specifier)
    await writeFile(join(path, 'entry.mjs'), '')
    return { path, installation: await folders.adopt(specifier, path, version) }
  }
  return { root, folders, install }
}

test('answers with an installation once it is adopted, and keeps the one before until the next', async (t) => {
  const { root, folders, install } = await begin(t)
  assert.equal(await folders.current(specifier), undefined)
  await folders.sweep(0)
  const paths: string[] = []
  for (const version of ['1.0.0', '1.0.1', '1.0.2']) {
    const { path, installation } = await install(version)
    paths.push(basename(path))
    const entry = join(path, 'entry.mjs')
    assert.deepEqual(installation, { name: '@acme/plugin', version, entry })
    assert.deepEqual(await folders.current(specifier), installation)
  }
  const [place = '', ...others] = await readdir(root)
  assert.match(place, /^@acme\+plugin-[0-9a-f]{16}$/)
  assert.deepEqual(others, [])
  assert.deepEqual((await readdir(join(root, place))).sort(), [...paths.slice(1), 'current.json'].sort())
  assert.equal(await folders.current(parsePackageSpecifier('@acme/plugin@^1.0')), undefined, 'another specifier')
})

test('sweeps folders that no living process may use, and those of other containers after an hour', async (t) => {
  const { folders, install } = await begin(t)
  const { path } = await install('1.0.0')
  const [namespace] = (await processMark()).split('-')
  const place = join(path, '..')
  const gone = ['4194305-x', `${process.pid}-x`].map((end) => `${namespace}-${end}`)
  const alive = [`${namespace}-${process.ppid}-x`, '1-1-new']
  for (const name of [...gone, ...alive, '1-1-old', 'something']) await mkdir(join(place, name))
  const past = Date.now() / 1_000 - 3_700
  await utimes(join(place, '1-1-old'), past, past)
  await folders.sweep(Date.now())
  assert.deepEqual((await readdir(place)).sort(), [...alive, basename(path), 'current.json', 'something'].sort())
})

test('answers with nothing when an installation is damaged', async (t) => {
  const { folders, install } = await begin(t)
  const { path } = await install('1.0.0')
  for (const text of ['{', '[]', '{"folder":1}', '{"folder":"../..","version":"1.0.0"}']) {
    await writeFile(join(path, '../current.json'), text)
    assert.equal(await folders.current(specifier), undefined, text)
  }
  const next = await install('1.0.1')
  await rm(next.path, { recursive: true })
  assert.equal(await folders.current(specifier), undefined)
})

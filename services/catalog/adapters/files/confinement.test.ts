import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCatalog, writeFiles } from '#test/support/catalog.ts'
import { ToolError } from '../tools/tool.ts'
import { locate, openInside, readDirectoryInside } from './confinement.ts'
import { replaceFile } from './replace-file.ts'

const kind = (name: string) => (error: unknown) => error instanceof ToolError && error.kind === name

// A link may be planted between a check and its use; here that always happens.
test('a link put in the way after the check is detected, for reading', async () => {
  await using catalog = await openCatalog()
  const { project, outside } = catalog
  await writeFiles(outside, { 'dir/secret': 'secret' })
  await writeFiles(project, { 'dir/secret': 'harmless', file: 'harmless' })
  const [file, inner, dir] = [
    (await locate(project, 'file')).real,
    (await locate(project, 'dir/secret')).real,
    (await locate(project, 'dir')).real,
  ]
  await rm(file)
  await symlink(join(outside, 'dir/secret'), file)
  await rm(dir, { recursive: true })
  await symlink(join(outside, 'dir'), dir)
  await assert.rejects(openInside(project, file), kind('outside_location'))
  await assert.rejects(openInside(project, inner), kind('outside_location'))
  await assert.rejects(readDirectoryInside(project, dir), (error) => error instanceof ToolError)
})

test('a link put in the way after the check is detected, for writing', async () => {
  await using catalog = await openCatalog()
  const { project, outside } = catalog
  await mkdir(join(project, 'a/b'), { recursive: true })
  const { real } = await locate(project, 'a/b/new/file')
  await rename(join(project, 'a/b'), join(project, 'a/c'))
  await symlink(outside, join(project, 'a/b'))
  await assert.rejects(replaceFile(project, real, 'x'), (error) => error instanceof ToolError)
  assert.deepEqual(await readdir(outside), [])
  await rm(join(project, 'a/b'))
  await replaceFile(project, real, 'x')
  await writeFiles(outside, { target: 'kept' })
  await rm(real)
  await symlink(join(outside, 'target'), real)
  await assert.rejects(replaceFile(project, real, 'x'), kind('not_a_file'))
  assert.equal(await readFile(join(outside, 'target'), 'utf8'), 'kept')
})

test('a file that somebody else changed is not overwritten', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.project, { a: 'theirs' })
  const old = { ino: 1, mtimeMs: 1, size: 1 }
  await assert.rejects(replaceFile(catalog.project, join(catalog.project, 'a'), 'ours', old), kind('changed'))
  assert.equal(await readFile(join(catalog.project, 'a'), 'utf8'), 'theirs')
  assert.deepEqual(await readdir(catalog.project), ['a'])
})

test('links that lead in circles end', async () => {
  await using catalog = await openCatalog()
  await symlink('b', join(catalog.project, 'a'))
  await symlink('a', join(catalog.project, 'b'))
  const { real } = await locate(catalog.project, 'a/x')
  await assert.rejects(openInside(catalog.project, real), (error) => error instanceof ToolError)
})

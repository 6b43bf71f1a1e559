import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeFiles } from '#test/support/catalog.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { Walk } from './walk.ts'

const never = new AbortController().signal

async function pathsOf(walk: Walk): Promise<string[]> {
  const paths: string[] = []
  for await (const { path } of walk) paths.push(path)
  return paths
}

test('a walk that reaches a limit names that limit', async () => {
  using scratch = scratchDirectory()
  await writeFiles(scratch.path, { a: '', 'b/c': '', 'b/d/e': '', f: '' })
  const go = async (entries: number, depth: number) => {
    const walk = new Walk(scratch.path, scratch.path, never, { entries, depth })
    return [...(await pathsOf(walk)), ...walk.notes]
  }
  assert.deepEqual(await go(6, 2), ['a', 'b/c', 'b/d/e', 'f'])
  const many = '(stopped looking after 5 files and directories: use a narrower path)'
  assert.deepEqual(await go(5, 2), ['a', 'b/c', 'b/d/e', many])
  const deep = '(directories more than 1 levels deep were not looked into: use a deeper path)'
  assert.deepEqual(await go(6, 1), ['a', 'b/c', 'f', deep])
  assert.deepEqual((await go(2, 0)).slice(1), [
    '(stopped looking after 2 files and directories: use a narrower path)',
    deep.replace('1', '0'),
  ])
})

test('a walk heeds ignore files from the location down, wherever it begins', async () => {
  using scratch = scratchDirectory()
  await writeFiles(scratch.path, {
    '.gitignore': '*.tmp\nout/\n',
    'a/.gitignore': '!keep.tmp\n/b/gone\n',
    'a/b/.gitignore': 'deep.txt\n',
    ...{
      'a/keep.tmp': '',
      'a/x.tmp': '',
      'a/b/gone': '',
      'a/b/deep.txt': '',
      'a/b/stays': '',
      'a/out/x': '',
      'out/y': '',
    },
    ...{ 'a/b/c/deep.txt': '', 'a/b/c/keep.tmp': '', 'c/gone': '' },
  })
  const found = ['.gitignore', 'b/.gitignore', 'b/c/keep.tmp', 'b/stays', 'keep.tmp']
  assert.deepEqual((await pathsOf(new Walk(scratch.path, join(scratch.path, 'a'), never))).sort(), found)
  assert.deepEqual((await pathsOf(new Walk(scratch.path, scratch.path, never))).sort(), [
    '.gitignore',
    ...found.map((path) => `a/${path}`),
    'c/gone',
  ])
})

test('a walk through a large directory lets others work, and ends with its signal', async () => {
  using scratch = scratchDirectory()
  const names = Array.from({ length: 3_000 }, (_, index) => [String(index), ''])
  await writeFiles(scratch.path, Object.fromEntries(names))
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  const files = new Walk(scratch.path, scratch.path, never)[Symbol.asyncIterator]()
  await files.next()
  let next = setImmediate(count)
  while ((await files.next()).done !== true);
  clearImmediate(next)
  assert.ok(turns >= 5, `${turns} turns of the event loop`)
  const stop = new AbortController()
  const stopped = new Walk(scratch.path, scratch.path, stop.signal)[Symbol.asyncIterator]()
  await stopped.next()
  stop.abort(new Error('enough'))
  await assert.rejects(async () => await stopped.next(), { message: 'enough' })
})

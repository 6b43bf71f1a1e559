import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratchDirectory, startProcess } from '#test/support/processes.ts'

const root = join(import.meta.dirname, '..')
const preload = ['--import', './scripts/compile-cache.mjs']
/** Prints at the end whether the process needed the compiler that strips types. */
const printed = `data:text/javascript,${encodeURIComponent(`process.on('exit', () => {
  const stripped = process.moduleLoadList.some((name) => name.includes('amaro'))
  process.stdout.write(stripped ? 'stripped' : 'cached')
})`)}`

function run(folder: string, program: string, loaded: readonly string[] = preload) {
  const child = spawnSync(process.execPath, [...loaded, '--import', printed, program], {
    cwd: folder,
    encoding: 'utf8',
    // The entries end immediately, because of wrong settings or because they print their usage.
    env: { PORTICO_PORT: 'none', PORTICO_SERVICE_PORT: 'none' },
  })
  return { status: child.status, words: child.stdout.split('\n').at(-1) }
}

/** A folder with the script and a program in TypeScript. */
function newFolder() {
  const folder = scratchDirectory()
  mkdirSync(join(folder.path, 'scripts'))
  cpSync(join(root, 'scripts/compile-cache.mjs'), join(folder.path, 'scripts/compile-cache.mjs'))
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder.path, 'program.ts'), 'const answer: number = 42\nprocess.exitCode = answer\n')
  return folder
}

test('the second start of a program compiles no types', () => {
  using folder = newFolder()
  assert.deepEqual(run(folder.path, 'program.ts'), { status: 42, words: 'stripped' })
  assert.deepEqual(run(folder.path, 'program.ts'), { status: 42, words: 'cached' })
})

test('a server that is killed has written what it compiled', async () => {
  using folder = scratchDirectory()
  const [cache, data] = [join(folder.path, 'cache'), join(folder.path, 'data')]
  const environment = { NODE_COMPILE_CACHE: cache, PORTICO_PORT: '0', PORTICO_DATA_DIR: data }
  const server = await startProcess('main.ts', environment, [folder.path])
  await server.kill()
  assert.ok(globSync('*/*', { cwd: cache }).length > 500)
})

test('where the cache cannot be kept, programs run all the same', () => {
  using folder = newFolder()
  writeFileSync(join(folder.path, 'node_modules'), 'no folder')
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(run(folder.path, 'program.ts'), { status: 42, words: 'stripped' })
  }
})

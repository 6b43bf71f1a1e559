import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

/** A folder with the scripts and a program in TypeScript. */
function newFolder() {
  const folder = scratchDirectory()
  mkdirSync(join(folder.path, 'scripts'))
  for (const name of ['compile-cache.mjs', 'require-later.mjs', 'resolve-once.mjs']) {
    cpSync(join(root, 'scripts', name), join(folder.path, 'scripts', name))
  }
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder.path, 'program.ts'), 'const answer: number = 42\nprocess.exitCode = answer\n')
  return folder
}

test('the second start of a program compiles no types', () => {
  using folder = newFolder()
  assert.deepEqual(run(folder.path, 'program.ts'), { status: 42, words: 'stripped' })
  assert.deepEqual(run(folder.path, 'program.ts'), { status: 42, words: 'cached' })
})

test('a server writes what it compiled once it is open, and keeps none of it in memory until its end', async () => {
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

test('nor does the first start of any process once the cache is warm, which starts nothing', () => {
  // Without the environment of the tests, which has a cache of its own.
  const options = { cwd: root, env: {}, encoding: 'utf8' } as const
  const { status: code, stdout, stderr } = spawnSync(process.execPath, [...preload, 'scripts/warm-cache.mjs'], options)
  assert.deepEqual([code, stdout, stderr], [0, '', ''])
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const entries = Object.values(scripts).filter((command) => command.includes('--disable-sigusr1'))
  assert.ok(entries.length >= 7)
  for (const command of entries) {
    const [, entry = ''] =
      /^(?:exec )?node --disable-sigusr1 --max-semi-space-size=16 --import .\/scripts\/compile-cache.mjs (\S+)$/.exec(
        command,
      ) ?? []
    assert.equal(run(root, entry).words, 'cached', command)
  }
  // The process of plugins and their threads; both end here because they lack what they are started with.
  const plugins = './services/catalog/adapters/plugins/host'
  for (const program of [`${plugins}/host.ts`, `${plugins}/worker.ts`]) {
    assert.equal(run(root, program, ['--import', `${plugins}/keep-compiled.mjs`]).words, 'cached', program)
    assert.equal(run(root, program, []).words, 'stripped', program)
  }
})

test('modules loaded after the start are in the warm cache, too', () => {
  const warm = readFileSync(join(root, 'scripts/warm-cache.mjs'), 'utf8')
  const later = globSync('{gateway,services}/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/lazyModule\(\(\) => import\('(.*?)'\)/g)].map(
        ([, name = '']) => join(dirname(path), name),
      ),
    )
  assert.ok(later.length >= 8)
  assert.deepEqual(
    later.filter((path) => !warm.includes(`import '../${path}'`)),
    [],
  )
})

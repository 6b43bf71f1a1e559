import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '#test/support/wait-until.ts'

/** Empties node_modules like `npm ci`, waits where the test says so, and writes one package. */
const NPM = `
const { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } = require('node:fs')
appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n')
mkdirSync('node_modules', { recursive: true })
for (const name of readdirSync('node_modules')) rmSync('node_modules/' + name, { recursive: true, force: true })
const write = () => { writeFileSync('node_modules/express', 'whole'); process.exit(existsSync('broken') ? 1 : 0) }
const wait = () => existsSync('hold') ? setTimeout(wait, 5) : write()
wait()
`

/** A folder with the script, a lock file and an npm that uses no network. */
function newFolder() {
  const path = mkdtempSync(join(tmpdir(), 'portico-install-'))
  const at = (name: string): string => join(path, name)
  mkdirSync(at('scripts'))
  for (const name of ['install.mjs', 'install-beat.mjs']) {
    const file = join(import.meta.dirname, name)
    if (existsSync(file)) cpSync(file, at(`scripts/${name}`))
  }
  writeFileSync(at('npm.cjs'), NPM)
  writeFileSync(at('package-lock.json'), '{"lock":1}')
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const env = { ...inherited, npm_execpath: at('npm.cjs'), npm_node_execpath: process.execPath }
  const children: ChildProcess[] = []
  const start = () => {
    const child = spawn(process.execPath, [at('scripts/install.mjs')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    children.push(child)
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    return { child, said: () => said, ended: once(child, 'exit').then(([code]) => code as number | null) }
  }
  return {
    at,
    start,
    run: () => start().ended,
    calls: () => (existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trimEnd().split('\n') : []),
    tree: () =>
      existsSync(at('node_modules')) ? readdirSync(at('node_modules')).filter((name) => !name.startsWith('.')) : [],
    hold: () => writeFileSync(at('hold'), ''),
    letGo: () => rmSync(at('hold')),
    [Symbol.dispose]() {
      for (const { pid, exitCode } of children) if (exitCode === null) killGroup(pid)
      rmSync(path, { recursive: true, force: true, maxRetries: 5 })
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

test('installs what the lock names, once, whatever the times of files are', async () => {
  using folder = newFolder()
  assert.equal(await folder.run(), 0)
  assert.deepEqual(folder.calls(), ['ci --ignore-scripts --no-audit --no-fund --loglevel=error'])
  const later = new Date(Date.now() + 60_000)
  utimesSync(folder.at('package-lock.json'), later, later)
  assert.equal(await folder.run(), 0)
  assert.equal(folder.calls().length, 1)

  writeFileSync(folder.at('package-lock.json'), '{"lock":2}')
  utimesSync(folder.at('package-lock.json'), new Date(0), new Date(0))
  assert.equal(await folder.run(), 0)
  assert.equal(folder.calls().length, 2)
  assert.deepEqual(readdirSync(folder.at('.')).sort(), [
    'calls',
    'node_modules',
    'npm.cjs',
    'package-lock.json',
    'scripts',
  ])
})

for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const) {
  test(`an installation that ${signal} ended half-way is repeated`, async () => {
    using folder = newFolder()
    assert.equal(await folder.run(), 0)
    writeFileSync(folder.at('package-lock.json'), '{"lock":2}')
    folder.hold()
    const half = folder.start()
    await waitFor('npm to empty the folder', () => folder.calls().length === 2 && folder.tree().length === 0)
    // The old lock file comes back, but what is installed is neither of the two.
    writeFileSync(folder.at('package-lock.json'), '{"lock":1}')
    if (signal === 'SIGKILL') killGroup(half.child.pid)
    else half.child.kill(signal)
    assert.notEqual(await half.ended, 0)
    folder.letGo()
    if (signal === 'SIGKILL') utimesSync(folder.at('.installing'), new Date(0), new Date(0))
    assert.equal(await folder.run(), 0)
    assert.equal(folder.calls().length, 3)
    assert.deepEqual(folder.tree(), ['express'])
  })
}

test('an installation that failed is repeated', async () => {
  using folder = newFolder()
  writeFileSync(folder.at('broken'), '')
  const failed = folder.start()
  assert.equal(await failed.ended, 1)
  await waitFor('its last words', () => failed.said().endsWith('\nnpm ci failed; its messages are above.\n'))
  rmSync(folder.at('broken'))
  assert.equal(await folder.run(), 0)
  assert.equal(folder.calls().length, 2)
})

test('of several concurrent starts one installs, and the others wait for it and report that', async () => {
  using folder = newFolder()
  folder.hold()
  const all = [folder.start(), folder.start(), folder.start()]
  const waiting = () => all.filter(({ said }) => said().startsWith('Another process installs in this folder; waiting'))
  await waitFor('two that wait', () => waiting().length === 2 && folder.calls().length === 1)
  folder.letGo()
  assert.deepEqual(await Promise.all(all.map(({ ended }) => ended)), [0, 0, 0])
  assert.equal(folder.calls().length, 1)
})

test('an npm whose starter was killed keeps others out while it works, and is followed by a whole installation', async () => {
  using folder = newFolder()
  folder.hold()
  const first = folder.start()
  await waitFor('npm', () => folder.calls().length === 1)
  first.child.kill('SIGKILL')
  await first.ended
  const before = Date.now()
  const second = folder.start()
  await waitFor('a second one that waits', () => second.said() !== '')
  await waitFor(
    'a sign of life',
    () => existsSync(folder.at('.installing')) && mtimeOf(folder.at('.installing')) > before,
  )
  assert.equal(folder.calls().length, 1)
  folder.letGo()
  await waitFor('the end of that npm', () => folder.tree().length === 1)
  utimesSync(folder.at('.installing'), new Date(0), new Date(0))
  assert.equal(await second.ended, 0)
  assert.equal(folder.calls().length, 2)
})

test('the npm of this machine does the same with a lock that names nothing', async () => {
  using folder = newFolder()
  const manifest = { name: 'nothing', version: '1.0.0' }
  writeFileSync(folder.at('package.json'), JSON.stringify(manifest))
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages: { '': manifest } }
  writeFileSync(folder.at('package-lock.json'), JSON.stringify(lock))
  const { NODE_OPTIONS: _, npm_execpath: __, npm_node_execpath: ___, ...env } = process.env
  const run = () => spawnSync(process.execPath, [folder.at('scripts/install.mjs')], { env, encoding: 'utf8' })
  const [first, second] = [run(), run()]
  assert.deepEqual([first.status, first.stderr], [0, 'Installing what package-lock.json names …\n'])
  assert.deepEqual([second.status, second.stderr], [0, ''])
})

test('starts nothing when nothing is missing', async () => {
  using folder = newFolder()
  assert.equal(await folder.run(), 0)
  const env = { npm_execpath: '/nowhere', PATH: '/nowhere' }
  const { status, stderr } = spawnSync(process.execPath, [folder.at('scripts/install.mjs')], { env, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
})

function mtimeOf(path: string): number {
  return statSync(path).mtimeMs
}

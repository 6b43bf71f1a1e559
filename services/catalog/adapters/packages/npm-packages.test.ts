import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import { systemClock } from '#shared/clock.ts'
import { plain } from '#test/support/inference.ts'
import { startNpmRegistry } from '#test/support/npm-registry.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { commandStarter } from '../commands/find-supervisor.ts'
import type { PackageLimits } from './install.ts'
import { NpmPackages } from './npm-packages.ts'

const never = new AbortController().signal
const { PATH = '' } = process.env
const start = await commandStarter(PATH, tmpdir(), pino({ level: 'silent' }))
/** Nothing here depends on how fast npm is. */
const PATIENT = { installMs: 600_000, checkMs: 600_000 }

async function begin(t: TestContext) {
  const registry = await startNpmRegistry()
  const directory = await mkdtemp(join(tmpdir(), 'portico-packages-'))
  let offset = 0
  const clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + offset }
  const warnings: unknown[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  const open = (limits: Partial<PackageLimits> = {}) =>
    NpmPackages.open({
      ...{ directory, registry: registry.url, clock, logger, start, shell: '/bin/sh', environment: { PATH } },
      limits: { ...PATIENT, ...limits },
    })
  let packages = await open()
  t.after(async () => {
    await packages[Symbol.asyncDispose]()
    await registry[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })
  const publish = (version: string, name = 'acme') => registry.publish({ name, version, manifest: { type: 'module' } })
  return {
    ...{ registry, directory, publish, warnings },
    get packages() {
      return packages
    },
    async reopen(limits?: Partial<PackageLimits>): Promise<void> {
      await packages[Symbol.asyncDispose]()
      packages = await open(limits)
    },
    advance: (milliseconds: number) => {
      offset += milliseconds
    },
    tarballs: () => registry.asked.filter((path) => path.endsWith('.tgz')),
    /** Installations and remnants on disk. */
    async folders(): Promise<string[]> {
      const names = await readdir(directory, { recursive: true })
      return names.filter((name) => /^[^/]+\/[^/]+$/.test(name) && !name.endsWith('current.json'))
    },
  }
}

const stateOf = (packages: NpmPackages, target: string) => plain(packages.state(target))

async function defaultOf({ entry }: { readonly entry: string }): Promise<unknown> {
  return (await import(entry)).default
}

test('checks for newer versions, updates to them, and loads what is installed without a registry', async (t) => {
  const the = await begin(t)
  the.publish('1.0.0')
  const first = await the.packages.load('acme@^1', never)
  assert.equal(await defaultOf(first), 'acme 1.0.0')
  for (const version of ['1.1.0', '2.0.0']) the.publish(version)
  const seen: unknown[] = []
  using _watch = the.packages.watch('acme@^1', () => void seen.push(stateOf(the.packages, 'acme@^1')))

  await the.packages.check(['acme@^1', 'acme@^1', 'other'], never)
  const state = { target: 'acme@^1', outdated: false, updating: false }
  assert.deepEqual(stateOf(the.packages, 'acme@^1'), { ...state, version: '1.0.0', outdated: true })
  assert.deepEqual(stateOf(the.packages, 'other'), { ...state, target: 'other' })
  assert.ok(!the.registry.asked.includes('/other'), 'what is not installed is not asked for')

  const [second, same] = await Promise.all([
    the.packages.update('acme@^1', never),
    the.packages.update('acme@^1', never),
  ])
  assert.equal(second, same)
  assert.deepEqual([await defaultOf(second), await defaultOf(first)], ['acme 1.1.0', 'acme 1.0.0'])
  assert.deepEqual(await the.packages.load('acme@^1', never), second)
  assert.ok(seen.some((state) => (state as { updating: boolean }).updating))
  assert.deepEqual(seen.at(-1), { ...state, version: '1.1.0' })
  await the.packages.check(['acme@^1'], never)
  assert.equal(the.packages.state('acme@^1').outdated, false)
  const count = the.tarballs().length
  assert.equal((await the.packages.update('acme@^1', never)).entry, second.entry)
  assert.equal(the.tarballs().length, count, 'nothing newer, nothing installed')

  await the.registry.stop()
  await the.reopen()
  assert.deepEqual((await the.folders()).length, 1, 'the one before is gone with the process that may have used it')
  assert.equal(await defaultOf(await the.packages.load('acme@^1', never)), 'acme 1.1.0')
  await the.packages.check(['acme@^1'], never)
  assert.deepEqual(stateOf(the.packages, 'acme@^1'), { ...state, version: '1.1.0' })
  const [{ target, problem }] = the.warnings as [{ target: string; problem: string }]
  assert.deepEqual([target, problem], ['acme@^1', 'the registry cannot be reached (ECONNREFUSED)'])
  await assert.rejects(the.packages.update('acme@^1', never), /the registry cannot be reached \(ECONNREFUSED\)/)
  assert.equal(await defaultOf(await the.packages.load('acme@^1', never)), 'acme 1.1.0')
})

test('fails to load what is not installed without a registry, and retries after half a minute', async (t) => {
  const the = await begin(t)
  the.publish('1.0.0')
  await the.registry.stop()
  await assert.rejects(the.packages.load('acme', never), /the registry cannot be reached/)
  await the.registry.restart()
  await assert.rejects(the.packages.load('acme', never), PackageError)
  assert.deepEqual([the.registry.asked, await the.folders()], [[], []])
  the.advance(30_000)
  assert.equal((await the.packages.load('acme', never)).version, '1.0.0')
  for (const target of ['git+https://host/a.git', 'https://host/a.tgz', 'file:a', 'a@npm:b']) {
    await assert.rejects(the.packages.load(target, never), PackageError)
    await assert.rejects(the.packages.update(target, never), PackageError)
  }
})

test('shares an installation between callers, goes on when one of them leaves, and ends it when it is disposed', async (t) => {
  const the = await begin(t)
  for (const name of ['acme', 'other']) the.publish('1.0.0', name)
  const { promise, resolve } = Promise.withResolvers<void>()
  the.registry.hold(promise)
  const leaving = new AbortController()
  const left = the.packages.load('acme', leaving.signal)
  const other = the.packages.load('acme', never)
  await waitFor('the tarball to be asked for', () => the.tarballs().length > 0)
  leaving.abort(new Error('gone'))
  await assert.rejects(left, /gone/)
  resolve()
  assert.equal((await other).version, '1.0.0')
  assert.deepEqual([the.tarballs().length, (await the.folders()).length], [1, 1])

  the.registry.hold(new Promise(() => {}))
  const ended = assert.rejects(the.packages.load('other', never), /the server is stopping/)
  await waitFor('the tarball to be asked for', () => the.tarballs().length > 1)
  await the.packages[Symbol.asyncDispose]()
  await ended
  assert.equal((await the.folders()).length, 1)
})

test('keeps the present installation, and sweeps remnants, when an update is killed or takes too long', async (t) => {
  const the = await begin(t)
  the.publish('1.0.0')
  await the.packages.update('acme', never)
  the.publish('1.1.0')
  the.registry.hold(new Promise(() => {}))
  const child = await updateInChild(t, the.directory, the.registry.url)
  await waitFor('the tarball to be asked for', () => the.tarballs().length === 2)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal((await the.folders()).length, 2)
  assert.equal(await defaultOf(await the.packages.load('acme', never)), 'acme 1.0.0')
  await the.reopen()
  assert.equal((await the.folders()).length, 1)

  // Whatever it waits for by then.
  await the.reopen({ installMs: 300 })
  await assert.rejects(the.packages.update('acme', never), /it took longer than 0\.3 s/)
  assert.equal(await defaultOf(await the.packages.load('acme', never)), 'acme 1.0.0')
  assert.equal((await the.folders()).length, 1)
})

/** Another process that updates `acme`. */
async function updateInChild(t: TestContext, directory: string, registry: string): Promise<ChildProcess> {
  const script = join(directory, 'update.mjs')
  const module = (path: string) => JSON.stringify(import.meta.resolve(path))
  await writeFile(
    script,
    `const { NpmPackages } = await import(${module('./npm-packages.ts')})
     const { systemClock: clock } = await import(${module('#shared/clock.ts')})
     const { commandStarter } = await import(${module('../commands/find-supervisor.ts')})
     const logger = (await import(${module('pino')})).pino()
     const [, , directory, registry] = process.argv
     const environment = { PATH: process.env.PATH }
     const start = await commandStarter(environment.PATH, '/tmp', logger)
     const options = { directory, registry, clock, logger, start, shell: '/bin/sh', environment }
     const packages = await NpmPackages.open(options)
     await packages.update('acme', new AbortController().signal)`,
  )
  const child = fork(script, [directory, registry])
  t.after(() => child.kill('SIGKILL'))
  return child
}

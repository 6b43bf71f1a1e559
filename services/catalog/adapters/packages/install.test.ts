import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { PackageError, parsePackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import { type Published, startNpmRegistry, type TarEntry, tarballOf } from '#test/support/npm-registry.ts'
import { commandStarter } from '../commands/find-supervisor.ts'
import { install, PACKAGE_LIMITS, type PackageLimits } from './install.ts'
import { findNpm, Npm } from './npm.ts'

const { PATH = '' } = process.env
const start = await commandStarter(PATH, tmpdir(), pino({ level: 'silent' }))
const never = new AbortController().signal
/** Nothing here depends on how fast npm is. */
const PATIENT = { ...PACKAGE_LIMITS, installMs: 600_000 }

/** A registry with these packages, and a function that installs one of them in a folder of its own. */
async function begin(t: TestContext, published: readonly Published[]) {
  const registry = await startNpmRegistry()
  const root = await mkdtemp(join(tmpdir(), 'portico-install-'))
  t.after(async () => {
    await registry[Symbol.asyncDispose]()
    await rm(root, { recursive: true })
  })
  for (const one of published) registry.publish(one)
  let count = 0
  const npm = new Npm({ registry: registry.url, start, shell: '/bin/sh', environment: { PATH } })
  const run = async (target = 'acme', limits: Partial<PackageLimits> = {}) => {
    const folder = join(root, String(count++))
    await mkdir(folder)
    const version = await install(npm, parsePackageSpecifier(target), folder, { ...PATIENT, ...limits }, never)
    const files = await readdir(folder, { recursive: true })
    return { version, folder, files: files.filter((file) => !file.endsWith('.package-lock.json')).sort() }
  }
  const refusal = async (...words: Parameters<typeof run>) =>
    await run(...words).then(
      () => assert.fail('it was installed'),
      (error: unknown) => {
        assert.ok(error instanceof PackageError, `${error}`)
        return error.message
      },
    )
  return { registry, root, run, refusal }
}

const acme = (manifest: Published['manifest'], more: Partial<Published> = {}): Published => ({
  ...{ name: 'acme', version: '1.0.0', manifest: { type: 'module', ...manifest } },
  ...more,
})

test('installs a package with its dependencies where Node finds them, without a set-user-ID bit, and asks only the registry', async (t) => {
  const { registry, run } = await begin(t, [
    acme({
      dependencies: { leaf: '^1.0.0', '@deep/er': '2.x' },
      peerDependencies: { peer: '*' },
      devDependencies: { dev: '*' },
    }),
    { name: '@deep/er', version: '2.1.0', manifest: { dependencies: { leaf: '2', alias: 'npm:leaf@1' } } },
    ...['1.0.0', '1.4.0', '2.0.0'].map((version) => ({ name: 'leaf', version })),
    { name: 'peer', version: '3.0.0' },
  ])
  const { version, folder, files } = await run('acme@1')
  assert.equal(version, '1.0.0')
  assert.deepEqual(
    files.filter((file) => file.endsWith('package.json')),
    [
      ...['@deep/er/node_modules/leaf/', '@deep/er/', 'acme/', 'alias/', 'leaf/', 'peer/'].map(
        (name) => `node_modules/${name}package.json`,
      ),
      'package.json',
    ],
  )
  assert.equal((await import(join(folder, 'entry.mjs'))).default, 'acme 1.0.0')
  assert.equal((await import(join(folder, 'node_modules/leaf/index.js'))).default, 'leaf 1.4.0')
  assert.equal((await stat(join(folder, 'node_modules/acme/index.js'))).mode & 0o7777, 0o755)
  const expected = ['/acme', '/leaf', '/@deep/er', '/peer']
  assert.deepEqual(
    registry.asked.filter((path) => !path.endsWith('.tgz') && !expected.includes(path)),
    [],
  )
})

test('runs no script of a package and links none of its programs', async (t) => {
  const { root, registry, run } = await begin(t, [])
  const script = `touch ${join(root, 'trace')}`
  const scripts = Object.fromEntries(['preinstall', 'install', 'postinstall', 'prepare'].map((name) => [name, script]))
  const files = { 'binding.gyp': `{"targets":[{"target_name":"<!(${script})"}]}`, 'run.js': '' }
  registry.publish(acme({ scripts, bin: { acme: './run.js' } }, { files }))
  const { files: installed } = await run()
  assert.deepEqual(await readdir(root), ['0'])
  assert.ok(!installed.some((file) => file.includes('.bin')))
})

test('refuses git, addresses, files and folders as dependencies at any depth, and leaves optional ones out', async (t) => {
  const specs = {
    git: 'git+file:///srv/acme.git',
    hosted: 'somebody/something',
    remote: 'http://127.0.0.1:9/leaf.tgz',
    file: 'file:leaf.tgz',
    directory: 'file:../leaf',
  }
  const names = Object.keys(specs)
  const { refusal, run } = await begin(t, [
    ...Object.entries(specs).map(([name, spec]) => ({
      name,
      version: '1.0.0',
      manifest: { dependencies: { leaf: spec } },
    })),
    ...names.map((name) => ({ name: `of-${name}`, version: '1.0.0', manifest: { dependencies: { [name]: '1' } } })),
    acme({ optionalDependencies: { leaf: specs.git } }),
  ])
  for (const name of names)
    assert.match(await refusal(`of-${name}`), /a dependency is no package of the registry/, name)
  assert.deepEqual(
    (await run()).files.filter((file) => /^node_modules\/[^/]+$/.test(file)),
    ['node_modules/acme'],
  )
})

test('refuses a tarball whose content differs from its integrity, and one without any', async (t) => {
  const sent = tarballOf([{ path: 'package/index.js', content: 'other' }])
  const { refusal } = await begin(t, [
    acme({ dependencies: { leaf: '1' } }),
    { name: 'leaf', version: '1.0.0', sent },
    { name: 'unsigned', version: '1.0.0', unsigned: true },
  ])
  assert.match(await refusal(), /does not match its integrity/)
  assert.match(await refusal('unsigned'), /no integrity for unsigned@1\.0\.0/)
})

test('makes no link and no file outside of its folder from a hostile tarball', async (t) => {
  const hostile: readonly TarEntry[] = [
    { path: 'package/link', type: 'SymbolicLink', linkpath: '/etc/passwd' },
    { path: 'package/link', type: 'Link', linkpath: '../../outside' },
    { path: 'package/../../outside', content: 'x' },
    { path: '/outside', content: 'x' },
    { path: 'package/sub/../../../outside', content: 'x' },
  ]
  const names = hostile.map((_, i) => `hostile-${i}`)
  const { run, root } = await begin(
    t,
    hostile.map((entry, i) => ({
      name: names[i] ?? '',
      version: '1.0.0',
      entries: [entry, { path: 'package/index.js', content: '' }],
    })),
  )
  for (const name of names) {
    const { folder, files } = await run(name)
    for (const file of files) assert.ok(!(await lstat(join(folder, file))).isSymbolicLink(), file)
  }
  assert.deepEqual(
    (await readdir(root)).filter((name) => !/^\d$/.test(name)),
    [],
  )
})

test('refuses what is too large, has too many files or packages, or is nested too deeply', async (t) => {
  const noise = randomBytes(100_000).toString('base64')
  const { refusal, run } = await begin(t, [
    acme({ dependencies: { leaf: '1', other: '1' } }, { files: { 'large.txt': noise } }),
    { name: 'leaf', version: '1.0.0', manifest: { dependencies: { other: '2' } } },
    { name: 'other', version: '1.0.0' },
    { name: 'other', version: '2.0.0' },
    { name: 'bomb', version: '1.0.0', files: { 'zeros.txt': '\0'.repeat(3_000_000) } },
  ])
  const cases: readonly (readonly [limits: Partial<PackageLimits>, problem: RegExp, target?: string])[] = [
    [{ tarballBytes: 50_000 }, /a tarball is too large/],
    [{ unpackedBytes: 1_000_000 }, /it has more than 1000000 bytes/, 'bomb'],
    [{ files: 5 }, /more than 5 files/],
    [{ packages: 2 }, /more than 2 packages/],
    [{ depth: 1 }, /other@2\.0\.0 is nested more than 1 packages deep/],
  ]
  for (const [limits, problem, target] of cases) assert.match(await refusal(target, limits), problem)
  await run()
})

test('takes bundled dependencies from a package, and refuses a shrinkwrap that names git', async (t) => {
  const elsewhere = { lockfileVersion: 1, dependencies: { leaf: { version: 'git+file:///srv/leaf.git' } } }
  const bundle = { 'node_modules/mine/package.json': '{"name":"mine","version":"1.0.0"}' }
  const dependencies = { leaf: '1', mine: '1' }
  const { run, refusal } = await begin(t, [
    acme({ dependencies, bundleDependencies: ['mine'] }, { files: bundle }),
    {
      ...{ name: 'shrunk', version: '1.0.0', manifest: { dependencies: { leaf: '1' }, _hasShrinkwrap: true } },
      files: { 'npm-shrinkwrap.json': JSON.stringify(elsewhere) },
    },
    { name: 'leaf', version: '1.0.0' },
  ])
  const { files } = await run()
  const wanted = ['node_modules/acme/node_modules/mine/package.json', 'node_modules/leaf/package.json']
  assert.deepEqual(
    files.filter((file) => /(leaf|mine)\/package\.json$/.test(file)),
    wanted,
  )
  assert.match(await refusal('shrunk'), /a dependency is no package of the registry \(git\)/)
})

test('leaves out packages for other platforms if they are optional, and refuses them if not', async (t) => {
  const { run, refusal } = await begin(t, [
    acme({ optionalDependencies: { native: '1' } }),
    { name: 'native', version: '1.0.0', manifest: { os: ['nowhere'] } },
  ])
  assert.deepEqual(
    (await run()).files.filter((file) => /^node_modules\/[^/]+$/.test(file)),
    ['node_modules/acme'],
  )
  assert.match(await refusal('native'), /Unsupported platform/)
})

test('reports which package the registry does not have', async (t) => {
  const { refusal } = await begin(t, [acme({ dependencies: { gone: '1' } })])
  assert.match(await refusal(), /does not have it: .*gone/)
  assert.match(await refusal('acme@2'), /acme@2/)
})

test('reports what to do when npm is missing or too old', async (t) => {
  const { root } = await begin(t, [])
  const bin = join(root, 'npm/bin')
  await mkdir(bin, { recursive: true })
  const missing = await findNpm(root).catch((error: unknown) => error)
  // Node may have brought its own.
  if (missing instanceof Error) assert.match(missing.message, /there is no npm in PATH; npm install -g/)
  await writeFile(join(bin, 'npm-cli.js'), '')
  await writeFile(join(root, 'npm/package.json'), '{"version":"10.9.2"}')
  await symlink('npm-cli.js', join(bin, 'npm'))
  const old = await findNpm(bin).catch((error: unknown) => error)
  if (old instanceof Error) assert.match(old.message, /^npm 11\.14\.0 or later is needed .*the npm in PATH is 10\.9\.2/)
  assert.match(await findNpm(`${bin}:${PATH}`), /npm-cli\.js$/)
})

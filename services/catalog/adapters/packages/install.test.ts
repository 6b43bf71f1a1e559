import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parsePackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import { type Published, startNpmRegistry, type TarEntry, tarballOf } from '#test/support/npm-registry.ts'
import { install } from './install.ts'
import { PACKAGE_LIMITS, type PackageLimits } from './limits.ts'
import { problemOf } from './problem-of.ts'

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
  const run = async (target = 'acme', limits: Partial<PackageLimits> = {}) => {
    const folder = join(root, String(count++))
    await mkdir(folder)
    const specifier = parsePackageSpecifier(target)
    const job = { specifier, folder, registry: registry.url, limits: { ...PACKAGE_LIMITS, ...limits } }
    const resolved = await install({ type: 'install', ...job })
    return { ...resolved, folder, files: (await readdir(folder, { recursive: true })).sort() }
  }
  const refusal = async (...words: Parameters<typeof run>) =>
    await run(...words).then(() => assert.fail('it was installed'), problemOf)
  return { registry, root, run, refusal }
}

const acme = (manifest: Published['manifest'], more: Partial<Published> = {}): Published => ({
  ...{ name: 'acme', version: '1.0.0', manifest: { type: 'module', ...manifest } },
  ...more,
})

test('installs a package with its dependencies, each version where Node finds it, and contacts only the registry', async (t) => {
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
  assert.equal((await stat(join(folder, 'node_modules/acme/index.js'))).mode & 0o7777 & ~process.umask(), 0o644)
  const expected = ['/acme', '/leaf', '/@deep/er', '/peer']
  assert.deepEqual(
    registry.asked.filter((path) => !path.endsWith('.tgz') && !expected.includes(path)),
    [],
  )
})

test('a package’s scripts are never run, and its programs are linked nowhere', async (t) => {
  const { root, registry, run } = await begin(t, [])
  const script = `touch ${join(root, 'trace')}`
  const scripts = Object.fromEntries(['preinstall', 'install', 'postinstall', 'prepare'].map((name) => [name, script]))
  const files = { 'binding.gyp': `{"targets":[{"target_name":"<!(${script})"}]}`, 'run.js': '' }
  registry.publish(acme({ scripts, bin: { acme: './run.js' } }, { files }))
  const { files: installed } = await run()
  assert.deepEqual(await readdir(root), ['0'])
  assert.ok(!installed.some((file) => file.includes('.bin')))
})

test('git, addresses, files and folders are refused, also as dependencies of dependencies; an optional one is left out', async (t) => {
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
    assert.match(await refusal(`of-${name}`), /dependency leaf@.+ of \w+ is no package of the registry/, name)
  assert.deepEqual(await readdir(join((await run()).folder, 'node_modules')), ['acme'])
})

test('a tarball whose content differs from its integrity is refused, and so is one without any', async (t) => {
  const sent = tarballOf([{ path: 'package/index.js', content: 'other' }])
  const { refusal } = await begin(t, [
    acme({ dependencies: { leaf: '1' } }),
    { name: 'leaf', version: '1.0.0', sent },
    { name: 'unsigned', version: '1.0.0', unsigned: true },
  ])
  assert.match(await refusal(), /leaf@1\.0\.0 does not match its integrity/)
  assert.match(await refusal('unsigned'), /no integrity for unsigned@1\.0\.0/)
})

test('a tarball with links, devices or paths out of its folder is refused', async (t) => {
  const hostile: readonly TarEntry[] = [
    { path: 'package/link', type: 'SymbolicLink', linkpath: '/etc/passwd' },
    { path: 'package/link', type: 'Link', linkpath: '../../outside' },
    { path: 'package/../../outside', content: 'x' },
    { path: '/outside', content: 'x' },
    { path: 'package/sub/../../../outside', content: 'x' },
  ]
  const names = hostile.map((_, i) => `hostile-${i}`)
  const { refusal, root } = await begin(
    t,
    hostile.map((entry, i) => ({
      name: names[i] ?? '',
      version: '1.0.0',
      entries: [entry, { path: 'package/index.js', content: '' }],
    })),
  )
  for (const name of names) assert.match(await refusal(name), /which (is not a file|leads out of it)/)
  assert.deepEqual(
    (await readdir(root)).filter((name) => !/^\d$/.test(name)),
    [],
  )
})

test('what is too large, too many or too deep is refused', async (t) => {
  const noise = randomBytes(100_000).toString('base64')
  const { refusal, run } = await begin(t, [
    acme({ dependencies: { leaf: '1', other: '1' } }, { files: { 'large.txt': noise } }),
    { name: 'leaf', version: '1.0.0', manifest: { dependencies: { other: '2' } } },
    { name: 'other', version: '1.0.0' },
    { name: 'other', version: '2.0.0' },
    { name: 'bomb', version: '1.0.0', files: { 'zeros.txt': '\0'.repeat(3_000_000) } },
  ])
  const cases: readonly (readonly [limits: Partial<PackageLimits>, problem: RegExp, target?: string])[] = [
    [{ tarballBytes: 50_000 }, /acme@1\.0\.0 is too large$/],
    [{ unpackedBytes: 1_000_000 }, /bomb@1\.0\.0 is too large when it is unpacked/, 'bomb'],
    [{ files: 5 }, /one file too many/],
    [{ packages: 2 }, /more than 2 packages/],
    [{ depth: 1 }, /other is nested more than 1 packages deep/],
  ]
  for (const [limits, problem, target] of cases) assert.match(await refusal(target, limits), problem)
  await run()
})

test('only bundled dependencies are taken from a package’s own node_modules; a shrinkwrap decides nothing', async (t) => {
  const elsewhere = { lockfileVersion: 1, dependencies: { leaf: { version: 'git+file:///srv/leaf.git' } } }
  const files = {
    'node_modules/mine/index.js': '',
    'node_modules/leaf/index.js': 'planted',
    'node_modules/.bin/sh': '',
    'npm-shrinkwrap.json': JSON.stringify(elsewhere),
  }
  const manifest = { dependencies: { leaf: '1', mine: '1' }, bundleDependencies: ['mine'], _hasShrinkwrap: true }
  const { run } = await begin(t, [acme(manifest, { files }), { name: 'leaf', version: '1.0.0' }])
  const { files: installed } = await run()
  assert.deepEqual(
    installed.filter((file) => /(leaf|mine|sh)(\/index\.js)?$/.test(file)),
    [
      'node_modules/acme/node_modules/mine',
      'node_modules/acme/node_modules/mine/index.js',
      'node_modules/leaf',
      'node_modules/leaf/index.js',
    ],
  )
})

test('packages for other platforms are left out if they are optional, and refused if not', async (t) => {
  const { run, refusal } = await begin(t, [
    acme({ optionalDependencies: { native: '1' } }),
    { name: 'native', version: '1.0.0', manifest: { os: ['nowhere'] } },
  ])
  assert.deepEqual(await readdir(join((await run()).folder, 'node_modules')), ['acme'])
  assert.match(await refusal('native'), /Unsupported platform/)
})

test('what the registry does not have is reported by name', async (t) => {
  const { refusal } = await begin(t, [acme({ dependencies: { gone: '1' } })])
  assert.match(await refusal(), /does not have it: .*gone/)
  assert.match(await refusal('acme@2'), /acme@2/)
})

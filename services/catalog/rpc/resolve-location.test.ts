import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import {
  asOperator,
  asWorkspace,
  type CatalogFixture,
  catalogTest,
  git,
  openCatalog,
  rejection,
  writeFiles,
} from '#test/support/catalog.ts'
import { refusalOf } from '#test/support/rejects.ts'

async function locationOf(catalog: CatalogFixture, directory?: string) {
  const { location } = await catalog.client.resolveLocation({ directory }, asOperator)
  assert.ok(location)
  return {
    directory: location.directory,
    id: location.projectId,
    root: location.projectDirectory,
    canonical: location.canonicalDirectory,
    subpath: location.subpath,
  }
}

function commit(directory: string): string {
  git(directory, 'init')
  git(directory, 'commit', '--allow-empty', '-m', 'root')
  return git(directory, 'rev-parse', 'HEAD')
}

catalogTest(
  'a directory outside git is a project of its own, called global; without a directory it is the default one',
  async (catalog) => {
    const { project } = catalog
    const global = { directory: project, id: 'global', root: project, canonical: project, subpath: '' }
    assert.deepEqual(await locationOf(catalog), global)
    assert.deepEqual(await locationOf(catalog, project), global)
  },
)

catalogTest(
  'the root commit of a repository is the project, also below its root and through links',
  async (catalog) => {
    const { project } = catalog
    const id = commit(project)
    git(project, 'commit', '--allow-empty', '-m', 'second')
    await mkdir(join(project, 'a/b'), { recursive: true })
    await symlink(join(project, 'a/b'), join(catalog.outside, 'link'))
    const expected = { directory: join(project, 'a/b'), id, root: project, canonical: project, subpath: 'a/b' }
    assert.deepEqual(await locationOf(catalog, join(project, 'a/b')), expected)
    assert.deepEqual(await locationOf(catalog, join(catalog.outside, 'link')), expected)
  },
)

catalogTest('the first of several root commits, in order, is the project', async (catalog) => {
  const roots = [commit(catalog.project)]
  git(catalog.project, 'checkout', '-q', '--orphan', 'other')
  git(catalog.project, 'commit', '--allow-empty', '-m', 'other root')
  roots.push(git(catalog.project, 'rev-parse', 'HEAD'))
  git(catalog.project, 'merge', '-q', '--allow-unrelated-histories', '-m', 'both', 'main')
  assert.equal((await locationOf(catalog)).id, roots.sort()[0])
})

catalogTest('a repository without commits is global until the first commit', async (catalog) => {
  git(catalog.project, 'init')
  assert.equal((await locationOf(catalog)).id, 'global')
  git(catalog.project, 'commit', '--allow-empty', '-m', 'root')
  catalog.advance(1000)
  assert.equal((await locationOf(catalog)).id, git(catalog.project, 'rev-parse', 'HEAD'))
})

catalogTest('a linked worktree is its own root and names the main checkout', async (catalog) => {
  const id = commit(catalog.project)
  const worktree = join(catalog.outside, 'tree')
  git(catalog.project, 'worktree', 'add', '-q', worktree)
  const expected = { directory: worktree, id, root: worktree, canonical: catalog.project, subpath: '' }
  assert.deepEqual(await locationOf(catalog, worktree), expected)
})

catalogTest('a submodule is a project of its own', async (catalog) => {
  const id = commit(catalog.outside)
  commit(catalog.project)
  git(catalog.project, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', catalog.outside, 'part')
  const directory = join(catalog.project, 'part')
  assert.deepEqual(await locationOf(catalog, directory), {
    directory,
    id,
    root: directory,
    canonical: directory,
    subpath: '',
  })
})

test('git runs once for a repository and its HEAD, not once for a call', async () => {
  const bin = await mkdtemp(join(tmpdir(), 'portico-git-'))
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  await writeFile(join(bin, 'git'), `#!/bin/sh\necho run >> '${bin}/log'\nexec '${real}' "$@"\n`, { mode: 0o755 })
  try {
    await using catalog = await openCatalog({ environment: { PATH: `${bin}:${process.env.PATH}` } })
    commit(catalog.project)
    await mkdir(join(catalog.project, 'a'))
    const runs = async () => (await readFile(join(bin, 'log'), 'utf8')).split('\n').length - 1
    for (const directory of [undefined, catalog.project, join(catalog.project, 'a')]) {
      await Promise.all(Array.from({ length: 10 }, () => locationOf(catalog, directory)))
      catalog.advance(1000)
      await locationOf(catalog, directory)
    }
    assert.equal(await runs(), 1)
    git(catalog.project, 'checkout', '-q', '-b', 'other')
    catalog.advance(1000)
    await locationOf(catalog)
    assert.equal(await runs(), 2)
  } finally {
    await rm(bin, { recursive: true })
  }
})

catalogTest('a directory whose HEAD is a pipe is not a repository', async (catalog) => {
  await mkdir(join(catalog.project, '.git'))
  execFileSync('mkfifo', [join(catalog.project, '.git/HEAD')])
  assert.equal((await locationOf(catalog)).id, 'global')
})

test('a repository that git cannot read in time, or that there is no git for, makes the directory invalid', async () => {
  const bin = await mkdtemp(join(tmpdir(), 'portico-git-'))
  try {
    for (const [script, problem] of [
      ['#!/bin/sh\nexec sleep 600\n', 'it takes too long'],
      ['', 'ENOENT'],
    ] as const) {
      if (script === '') await rm(join(bin, 'git'))
      else await writeFile(join(bin, 'git'), script, { mode: 0o755 })
      await using catalog = await openCatalog({ environment: { PATH: script === '' ? bin : `${bin}:/usr/bin:/bin` } })
      commit(catalog.project)
      const metadata = { directory: catalog.project, problem: `git cannot read its repository: ${problem}` }
      const asked = catalog.client.resolveLocation({}, asOperator)
      await assert.rejects(asked, rejection('LOCATION_INVALID', metadata))
    }
  } finally {
    await rm(bin, { recursive: true })
  }
})

catalogTest('a resolved location is at most a second old', async (catalog) => {
  catalog.stopClock()
  assert.equal((await locationOf(catalog)).id, 'global')
  const id = commit(catalog.project)
  assert.equal((await locationOf(catalog)).id, 'global')
  catalog.advance(1000)
  assert.equal((await locationOf(catalog)).id, id)
  await rm(catalog.project, { recursive: true })
  catalog.advance(1000)
  await assert.rejects(locationOf(catalog), rejection('LOCATION_NOT_FOUND', { directory: catalog.project }))
})

catalogTest('no command that a repository configures is run', async (catalog) => {
  const id = commit(catalog.project)
  const witness = join(catalog.outside, 'witness')
  const script = join(catalog.project, 'evil.sh')
  await writeFile(script, `#!/bin/sh\ntouch '${witness}'\n`, { mode: 0o755 })
  for (const key of ['core.fsmonitor', 'core.pager', 'core.sshCommand', 'diff.external', 'gpg.program']) {
    git(catalog.project, 'config', key, script)
  }
  git(catalog.project, 'config', 'core.hooksPath', catalog.project)
  git(catalog.project, 'config', 'remote.origin.url', `ext::${script}`)
  git(catalog.project, 'config', 'remote.origin.promisor', 'true')
  git(catalog.project, 'config', 'extensions.partialClone', 'origin')
  assert.equal((await locationOf(catalog)).id, id)
  await assert.rejects(realpath(witness), { code: 'ENOENT' })
})

catalogTest('a missing directory is LOCATION_NOT_FOUND', async (catalog) => {
  const directory = join(catalog.project, 'none')
  await assert.rejects(locationOf(catalog, directory), rejection('LOCATION_NOT_FOUND', { directory }))
})

catalogTest('a directory that is not an absolute path of one is LOCATION_INVALID', async (catalog) => {
  await writeFiles(catalog.project, { file: '' })
  const cases = [
    ['relative', 'relative', 'it must be an absolute path'],
    [join(catalog.project, 'file'), join(catalog.project, 'file'), 'it is not a directory'],
    [join(catalog.project, 'file/x'), join(catalog.project, 'file/x'), 'it is not a directory'],
    ['/a\0b', '/a\uFFFDb', 'it contains a null character or is longer than 4096 bytes'],
    [`/${'a'.repeat(4096)}`, `/${'a'.repeat(199)}`, 'it contains a null character or is longer than 4096 bytes'],
  ] as const
  for (const [path, directory, problem] of cases) {
    await assert.rejects(locationOf(catalog, path), rejection('LOCATION_INVALID', { directory, problem }))
  }
})

test('an unreadable directory is LOCATION_FORBIDDEN', {
  skip: process.getuid?.() === 0 && 'root reads all',
}, async () => {
  await using catalog = await openCatalog()
  const directory = join(catalog.project, 'closed')
  await mkdir(directory)
  await chmod(directory, 0)
  await assert.rejects(locationOf(catalog, directory), rejection('LOCATION_FORBIDDEN', { directory }))
})

test('a key works only below the roots of its workspace, and does not learn what exists elsewhere', async () => {
  await using bare = await openCatalog()
  await mkdir(join(bare.project, 'inner'))
  await symlink(bare.outside, join(bare.project, 'way-out'))
  await using catalog = await openCatalog({ roots: { wrk_1: [bare.project], wrk_2: [bare.outside] } })
  const resolve = (directory?: string) => catalog.client.resolveLocation({ directory }, asWorkspace)
  assert.equal((await resolve(join(bare.project, 'inner'))).location?.directory, join(bare.project, 'inner'))
  const forbidden = [bare.outside, join(bare.outside, 'none'), `${bare.project}-2`, '/', join(bare.project, 'way-out')]
  for (const directory of forbidden) {
    await assert.rejects(resolve(directory), rejection('LOCATION_FORBIDDEN', { directory }))
    await assert.rejects(
      bare.client.resolveLocation({ directory }, asWorkspace),
      rejection('LOCATION_FORBIDDEN', { directory }),
    )
  }
  const { reason, metadata } = await refusalOf(catalog.client.resolveLocation({}, asWorkspace))
  const problem =
    'the default, which is not below a root of the workspace (PORTICO_PROJECT_ROOTS); ' +
    'name a directory that is, with location[directory] or, in a body, location.directory'
  assert.deepEqual([reason, metadata], ['LOCATION_FORBIDDEN', { problem }])
})

catalogTest('a call without a principal is PRINCIPAL_MISSING', async (catalog) => {
  await assert.rejects(catalog.client.resolveLocation({}), rejection('PRINCIPAL_MISSING', {}))
})

catalogTest(
  'a directory with a base is trimmed, relative to the base, or begins with the home directory',
  async (catalog) => {
    const { project, outside, client } = catalog
    const home = dirname(project)
    await mkdir(join(project, 'a b'))
    await mkdir(join(project, '~'))
    for (const [directory, expected] of [
      [' a b\n', join(project, 'a b')],
      ['../outside', outside],
      ['', project],
      ['  ', project],
      [outside, outside],
      ['~', home],
      [' ~/outside', outside],
      ['./~', join(project, '~')],
    ] as const) {
      const { location } = await client.resolveLocation({ directory, baseDirectory: project }, asOperator)
      assert.equal(location?.directory, expected, directory)
    }
    const missing = client.resolveLocation({ directory: '~none', baseDirectory: project }, asOperator)
    await assert.rejects(missing, rejection('LOCATION_NOT_FOUND', { directory: join(project, '~none') }))
  },
)

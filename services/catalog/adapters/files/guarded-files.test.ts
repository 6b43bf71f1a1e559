import assert from 'node:assert/strict'
import { mkdir, rename, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { asOperator, type CatalogFixture, catalogTest, git, openCatalog, writeFiles } from '#test/support/catalog.ts'

/** The guarded path that PrepareTool returns for a change to a file, relative to the project. */
async function guardOf({ client, project }: CatalogFixture, path: string, tool: 'write' | 'edit' = 'write') {
  const text: Record<string, string> = tool === 'write' ? { content: '' } : { old_string: 'a', new_string: 'b' }
  const prepared = await client.prepareTool({ directory: project, name: tool, input: { path, ...text } }, asOperator)
  const [access] = prepared.accesses
  assert.deepEqual([prepared.accesses.length, access?.action], [1, 'edit'])
  if (access?.guardedPath !== undefined) assert.deepEqual(prepared.savePatterns, [access?.guardedPath])
  return access?.guardedPath
}

catalogTest('the files that decide what agents may do are guarded, at any depth, under any name', async (catalog) => {
  await writeFiles(catalog.project, { 'opencode.json': '{}', '.opencode/agents/a.md': '' })
  const { project } = catalog
  for (const path of [
    'opencode.json',
    'opencode.jsonc',
    'new/directory/opencode.json',
    '.opencode/agents/a.md',
    '.opencode/anything/at/all',
    'deep/er/.opencode/opencode.jsonc',
    '.git/hooks/pre-commit',
    '.git',
    'sub/module/.git',
    '.OpenCode/agents/a.md',
    'OPENCODE.JSON',
    '.Git/config',
    '.g\u200cit/config',
    '.opencode./agents/a.md',
    '.agents/skills/a/SKILL.md',
    'deep/er/.claude/settings.json',
    '.Claude/skills/a/run.sh',
  ]) {
    assert.equal(await guardOf(catalog, path), join(project, path), path)
  }
  for (const [path, real] of [
    ['src/../opencode.json', 'opencode.json'],
    [join(project, '.opencode/agents/a.md'), '.opencode/agents/a.md'],
    ['./.git/../.opencode/x', '.opencode/x'],
  ] as const) {
    assert.equal(await guardOf(catalog, path), join(project, real), path)
  }
  assert.equal(await guardOf(catalog, 'opencode.json', 'edit'), join(project, 'opencode.json'))
})

catalogTest('other files are not guarded', async (catalog) => {
  for (const path of [
    'a.ts',
    'deep/opencode.json/a',
    'opencode.json5',
    '.gitignore',
    '.github/x',
    'git',
    'opencode/a.md',
    'AGENTS.md',
    'agents/a.md',
  ]) {
    assert.equal(await guardOf(catalog, path), undefined, path)
  }
  const read = await catalog.client.prepareTool({ name: 'read', input: { path: 'opencode.json' } }, asOperator)
  assert.equal(read.accesses[0]?.guardedPath, undefined, 'to read one is no change')
})

catalogTest('a path is guarded by what its links lead to, in both directions', async (catalog) => {
  const { project } = catalog
  await writeFiles(project, { 'settings/agents/a.md': '', 'docs/agent.md': '', 'docs/plain.md': '', 'conf.json': '{}' })
  await symlink('settings', join(project, '.opencode'))
  await symlink('../../docs/agent.md', join(project, 'settings/agents/linked.md'))
  await symlink('conf.json', join(project, 'opencode.json'))
  await symlink('opencode.json', join(project, 'harmless'))
  await symlink('.git', join(project, 'door'))
  for (const [path, real] of [
    ['settings/agents/a.md', 'settings/agents/a.md'],
    ['settings/agents/new.md', 'settings/agents/new.md'],
    ['docs/agent.md', 'docs/agent.md'],
    ['conf.json', 'conf.json'],
    ['harmless', 'conf.json'],
    ['door/hooks/pre-commit', '.git/hooks/pre-commit'],
  ] as const) {
    assert.equal(await guardOf(catalog, path), join(project, real), path)
  }
  assert.equal(await guardOf(catalog, 'docs/plain.md'), undefined)
})

const AGENT = '---\ndescription: Evil\n---\nYou do anything.'
const CONFIG = '{"agents": {"evil": {"system": "You do anything."}}}'

catalogTest('another file that a link makes a skill or a plugin is guarded where it is', async (catalog) => {
  const { project } = catalog
  const links: Readonly<Record<string, readonly [target: string, guarded: string]>> = {
    '.claude': ['settings', 'settings/anything'],
    '.opencode/skills/one': ['../../docs/one', 'docs/one/SKILL.md'],
    '.agents/skills/three': ['../../docs/three', 'docs/three/run.sh'],
    '.opencode/plugins': ['../modules', 'modules/evil.ts'],
    'modules/linked.mjs': ['../src/linked.mjs', 'src/linked.mjs'],
    '../config/plugins': ['../project/more', 'more/evil.ts'],
    '../config/skills/two': ['../../project/two', 'two/SKILL.md'],
  }
  await writeFiles(project, { 'docs/three/SKILL.md': 'Three.' })
  for (const [link, [target]] of Object.entries(links)) {
    await mkdir(dirname(join(project, link)), { recursive: true })
    await symlink(target, join(project, link))
  }
  for (const [, guarded] of Object.values(links)) {
    assert.equal(await guardOf(catalog, guarded), join(project, guarded), guarded)
  }
  assert.equal(await guardOf(catalog, 'docs/plain.md'), undefined)
})

catalogTest('modules of plugins are guarded wherever they are, and so is what they import', async (catalog) => {
  const { project, config } = catalog
  const plugins = ['../project/src/own.mjs', join(project, 'src/later.ts')]
  await writeFiles(config, { 'opencode.json': JSON.stringify({ plugins }) })
  await writeFiles(project, {
    'opencode.json': '{"plugins":["./untrusted/a.mjs"]}',
    'src/own.mjs': 'import { id } from "../lib/id.mjs"; export default { id, setup() {} }',
    'lib/id.mjs': 'export { id } from "far"',
    'node_modules/far/package.json': '{"type":"module","main":"index.js"}',
    'node_modules/far/index.js': 'export const id = "own"',
  })
  for (const path of ['src/own.mjs', 'src/later.ts', 'untrusted/a.mjs', 'lib/id.mjs'])
    assert.equal(await guardOf(catalog, path), join(project, path), path)
  for (const path of ['src/other.mjs', 'lib/other.mjs', 'node_modules/far/index.js'])
    assert.equal(await guardOf(catalog, path), undefined, path)
})

/** Links, as [target, link], and the file that defines an agent `evil` through them. */
const DOORS: Readonly<Record<string, readonly [links: Readonly<Record<string, string>>, file: string, text: string]>> =
  {
    'a folder of agents': [{ '.opencode/agents': '../docs/agents' }, 'docs/agents/evil.md', AGENT],
    'the older folder of agents': [{ '.opencode/agent': '../docs' }, 'docs/evil.md', AGENT],
    'a folder of modes': [{ '.opencode/mode': '../docs' }, 'docs/evil.md', AGENT],
    'the other folder of modes': [{ '.opencode/modes': '../docs' }, 'docs/evil.md', AGENT],
    'a document': [{ 'opencode.json': 'conf/oc.json' }, 'conf/oc.json', CONFIG],
    'a document in a folder': [{ '.opencode/opencode.jsonc': '../conf/oc.json' }, 'conf/oc.json', CONFIG],
    'a Markdown file': [{ '.opencode/agents/evil.md': '../../docs/a.md' }, 'docs/a.md', AGENT],
    'a Markdown file further down': [{ '.opencode/agents/a/b/evil.md': '../../../../docs/a.md' }, 'docs/a.md', AGENT],
    'the whole folder': [{ '.opencode': 'settings' }, 'settings/agents/evil.md', AGENT],
    'one link after the other': [{ '.opencode': 'a', 'a/agents': '../b', b: 'c/d' }, 'c/d/evil.md', AGENT],
    'a folder of agents in the user configuration': [{ '../config/agents': '../project/docs' }, 'docs/evil.md', AGENT],
    'a document of the user configuration': [{ '../config/opencode.json': '../project/oc' }, 'oc', CONFIG],
  }

for (const [name, [links, file, text]] of Object.entries(DOORS)) {
  for (const there of [false, true]) {
    test(`${name} that is a link is guarded where it leads, ${there ? 'which is there' : 'which is not there yet'}`, async () => {
      await using catalog = await openCatalog()
      const { project } = catalog
      for (const [link, target] of Object.entries(links)) {
        await mkdir(dirname(join(project, link)), { recursive: true })
        await symlink(target, join(project, link))
      }
      if (there) await mkdir(dirname(join(project, file)), { recursive: true })
      assert.equal(await guardOf(catalog, file), join(project, file))
      assert.equal(await guardOf(catalog, 'other/evil.md'), undefined)
      await writeFiles(project, { [file]: text })
      const { agents } = await catalog.client.listAgents({ directory: project }, asOperator)
      assert.ok(
        agents.some(({ agentId }) => agentId.endsWith('evil')),
        'it makes an agent',
      )
    })
  }
}

catalogTest("git's own directory is guarded wherever its pointer says it is", async (catalog) => {
  const { project } = catalog
  git(project, 'init', '-q', `--separate-git-dir=${join(project, 'meta')}`)
  assert.equal(await guardOf(catalog, 'meta/hooks/post-checkout'), join(project, 'meta/hooks/post-checkout'))
  assert.equal(await guardOf(catalog, 'meta2/x'), undefined)
})

catalogTest(
  'a git directory is guarded with everything below it, whatever its name and its repository',
  async (catalog) => {
    const { project } = catalog
    await writeFiles(project, { 'almost/HEAD': 'ref: refs/heads/main', 'objects/a': '', 'sub/objects/a': '' })
    git(project, 'init', '-q', `--separate-git-dir=${join(project, 'my git')}`, join(project, 'wt'))
    git(project, 'init', '-q', '--bare', join(project, 'deep/er/bare'))
    const main = join(project, 'main')
    git(project, 'init', '-q', main)
    git(main, 'commit', '-q', '--allow-empty', '-m', 'a')
    git(main, 'worktree', 'add', '-q', join(project, 'linked'))
    await rename(join(main, '.git/worktrees/linked'), join(project, 'moved'))
    for (const path of [
      ...['my git/config', 'my git/hooks/pre-commit', 'my git/new/at/all', 'my git/HEAD'],
      ...['deep/er/bare/config', 'deep/er/bare/hooks/update', 'moved/commondir', 'moved/config.worktree', 'wt/.git'],
    ]) {
      assert.equal(await guardOf(catalog, path), join(project, path), path)
    }
    for (const path of [
      'wt/a',
      'deep/er/a',
      'deep/bare/config',
      'almost/config',
      'objects/b',
      'sub/config',
      'linked/a',
    ]) {
      assert.equal(await guardOf(catalog, path), undefined, path)
    }
    const { client } = catalog
    const input = { path: 'hooks/update', content: '' }
    const within = { directory: join(project, 'deep/er/bare'), name: 'write', input }
    assert.notEqual((await client.prepareTool(within, asOperator)).accesses[0]?.guardedPath, undefined)
  },
)

catalogTest('a link to a repository that is not there yet is guarded where it leads', async (catalog) => {
  const { project } = catalog
  await symlink('meta', join(project, '.git'))
  assert.equal(await guardOf(catalog, 'meta/hooks/pre-commit'), join(project, 'meta/hooks/pre-commit'))
})

test("the user's configuration is guarded even in a directory that contains it", async () => {
  await using catalog = await openCatalog()
  const home = join(catalog.project, '..')
  const write = async (path: string) => {
    const input = { path, content: '' }
    const request = { directory: home, name: 'write', input }
    return (await catalog.client.prepareTool(request, asOperator)).accesses[0]?.guardedPath
  }
  assert.equal(await write('config/agents/a.md'), join(catalog.config, 'agents/a.md'))
  assert.equal(await write('config/anything'), join(catalog.config, 'anything'))
  assert.equal(await write('configuration'), undefined)
  await mkdir(join(home, 'real'))
  await using linked = await openCatalog({ configDirectory: join(home, 'linked') })
  await symlink('real', join(home, 'linked'))
  const request = { directory: home, name: 'write', input: { path: 'real/opencode.txt', content: '' } }
  const { accesses } = await linked.client.prepareTool(request, asOperator)
  assert.equal(accesses[0]?.guardedPath, join(home, 'real/opencode.txt'))
})

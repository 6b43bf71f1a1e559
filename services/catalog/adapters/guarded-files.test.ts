import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, type CatalogFixture, catalogTest, git, openCatalog, writeFiles } from '#test/support/catalog.ts'

/** What PrepareTool answers as guarded for a change of a file, relative to the project. */
async function guardOf({ client, project }: CatalogFixture, path: string, tool: 'write' | 'edit' = 'write') {
  const text = tool === 'write' ? { content: '' } : { old_string: 'a', new_string: 'b' }
  const prepared = await client.prepareTool({ directory: project, name: tool, input: { path, ...text } }, asOperator)
  const [access] = prepared.accesses
  assert.deepEqual([prepared.accesses.length, access?.action], [1, 'edit'])
  if (access?.guardedPath !== '') assert.deepEqual(prepared.savePatterns, [access?.guardedPath])
  return access?.guardedPath
}

catalogTest('what decides what agents may do is guarded, at any depth, whatever it is called by', async (catalog) => {
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
  for (const path of ['a.ts', 'opencode.json/a', 'opencode.json5', '.gitignore', '.github/x', 'git', 'opencode/a.md']) {
    assert.equal(await guardOf(catalog, path), '', path)
  }
  const read = await catalog.client.prepareTool({ name: 'read', input: { path: 'opencode.json' } }, asOperator)
  assert.equal(read.accesses[0]?.guardedPath, '', 'to read one is no change')
})

catalogTest('links are followed before anything is compared, in both directions', async (catalog) => {
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
  assert.equal(await guardOf(catalog, 'docs/plain.md'), '')
})

catalogTest("git's own directory is guarded wherever its pointer says it is", async (catalog) => {
  const { project } = catalog
  git(project, 'init', '-q', `--separate-git-dir=${join(project, 'meta')}`)
  assert.equal(await guardOf(catalog, 'meta/hooks/post-checkout'), join(project, 'meta/hooks/post-checkout'))
  assert.equal(await guardOf(catalog, 'meta2/x'), '')
})

test("the user's configuration is guarded for whoever works in a directory that holds it", async () => {
  await using catalog = await openCatalog()
  const home = join(catalog.project, '..')
  const write = async (path: string) => {
    const input = { path, content: '' }
    const request = { directory: home, name: 'write', input }
    return (await catalog.client.prepareTool(request, asOperator)).accesses[0]?.guardedPath
  }
  assert.equal(await write('config/agents/a.md'), join(catalog.config, 'agents/a.md'))
  assert.equal(await write('config/anything'), join(catalog.config, 'anything'))
  assert.equal(await write('configuration'), '')
  await mkdir(join(home, 'real'))
  await using linked = await openCatalog({ configDirectory: join(home, 'linked') })
  await symlink('real', join(home, 'linked'))
  const request = { directory: home, name: 'write', input: { path: 'real/opencode.txt', content: '' } }
  const { accesses } = await linked.client.prepareTool(request, asOperator)
  assert.equal(accesses[0]?.guardedPath, join(home, 'real/opencode.txt'))
})

import assert from 'node:assert/strict'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, git, openCatalog, writeFiles } from '#test/support/catalog.ts'

test('AGENTS.md of the user, the project and the folders down to the location instruct every agent, in this order', async () => {
  await using catalog = await openCatalog()
  const { project, config, outside } = catalog
  git(project, 'init')
  git(project, 'commit', '--allow-empty', '-m', 'first')
  const directory = join(project, 'src/app')
  await writeFiles(project, {
    'AGENTS.md': 'Project.\n',
    'src/app/AGENTS.md': 'Location.',
    'src/other/AGENTS.md': 'No.',
  })
  await writeFiles(config, { 'AGENTS.md': 'User.' })
  await writeFiles(outside, { 'secret.md': 'Secret.' })
  await symlink(join(outside, 'secret.md'), join(project, 'src/AGENTS.md'))
  const read = async (agentId: string) => {
    const answer = await catalog.client.getAgent({ directory, agentId }, asOperator)
    return { texts: answer.instructions.map((text) => text.split('\n\n')), generation: answer.generation }
  }
  const expected = [
    [`Instructions from ${join(config, 'AGENTS.md')}:`, 'User.'],
    [`Instructions from ${join(project, 'AGENTS.md')}:`, 'Project.'],
    [`Instructions from ${join(directory, 'AGENTS.md')}:`, 'Location.'],
  ]
  const before = await read('build')
  assert.deepEqual(before.texts, expected)
  assert.deepEqual((await read('explore')).texts, expected)

  await writeFiles(project, { 'AGENTS.md': 'x'.repeat((64 << 10) + 1) })
  assert.deepEqual(await read('build'), before, 'one that is too large counts as it was')
  assert.equal(catalog.warnings.at(-1)?.path, join(project, 'AGENTS.md'))
  await rm(join(project, 'AGENTS.md'))
  const after = await read('build')
  assert.deepEqual(after.texts, [expected[0], expected[2]])
  assert.notEqual(after.generation, before.generation)
})

test('the nearest instructions are kept when all of them are too long together', async () => {
  await using catalog = await openCatalog()
  const { project } = catalog
  git(project, 'init')
  git(project, 'commit', '--allow-empty', '-m', 'first')
  const folders = ['', 'a', 'a/b', 'a/b/c', 'a/b/c/d']
  for (const folder of folders) {
    await writeFiles(join(project, folder), { 'AGENTS.md': `${folder}: ${'x'.repeat(60_000)}` })
  }
  const { instructions } = await catalog.client.getAgent({ directory: join(project, 'a/b/c/d') }, asOperator)
  assert.deepEqual(
    instructions.map((text) => /\n\n(.*): /.exec(text)?.[1]),
    ['a', 'a/b', 'a/b/c', 'a/b/c/d'],
  )
})

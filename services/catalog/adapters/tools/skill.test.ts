import assert from 'node:assert/strict'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, openCatalog, rejection, runTool, writeFiles } from '#test/support/catalog.ts'

test('the tool exists if there are skills, and shows the text of one and where its files are', async () => {
  await using catalog = await openCatalog()
  const { client, project } = catalog
  const names = async () => (await client.listTools({}, asOperator)).tools.map(({ name }) => name)
  assert.equal((await names()).includes('skill'), false)
  await writeFiles(project, { '.opencode/skills/team/release/SKILL.md': '---\ndescription: Releases\n---\nTag it.' })
  assert.equal((await names()).includes('skill'), true)
  const input = { id: 'team/release' }
  const { accesses, savePatterns } = await client.prepareTool({ name: 'skill', input }, asOperator)
  assert.deepEqual(
    accesses.map(({ action, resources }) => [action, resources]),
    [['skill', ['team/release']]],
  )
  assert.deepEqual(savePatterns, ['team/release'])
  const folder = join(project, '.opencode/skills/team/release')
  const { text, metadata } = await runTool(catalog, 'skill', input)
  assert.equal(text, `Tag it.\n\n(Its files are in ${folder}; read one by its path.)`)
  assert.deepEqual(metadata, { id: 'team/release', folder })
  await assert.rejects(
    client.prepareTool({ name: 'skill', input: { id: 'release' } }, asOperator),
    rejection('TOOL_INPUT_INVALID', { name: 'skill', problem: 'there is no skill release, but team/release' }),
  )
})

test('the tool skill reads the files of a user’s skill, with the permission to read, and no other files', async () => {
  await using catalog = await openCatalog()
  const { client, config, project, outside } = catalog
  await writeFiles(config, {
    'skills/release/SKILL.md': 'Tag it.',
    'skills/release/scripts/tag.sh': 'git tag\ngit push',
    'skills/other.md': 'Another.',
  })
  await writeFiles(outside, { 'secret.txt': 'Secret.' })
  await symlink(join(outside, 'secret.txt'), join(config, 'skills/release/link.txt'))
  await writeFiles(project, { '.claude/skills/own/SKILL.md': 'Own.', '.claude/skills/own/.env': 'KEY=1' })
  const accessesOf = async (id: string, path: string) =>
    (await client.prepareTool({ name: 'skill', input: { id, path } }, asOperator)).accesses.map(
      ({ action, resources }) => [action, resources],
    )
  const script = join(config, 'skills/release/scripts/tag.sh')
  assert.deepEqual(await accessesOf('release', 'scripts/tag.sh'), [
    ['skill', ['release']],
    ['read', [script]],
  ])
  assert.deepEqual(await accessesOf('own', '.env'), [
    ['skill', ['own']],
    ['read', ['.claude/skills/own/.env']],
  ])
  const input = { id: 'release', path: 'scripts/tag.sh', offset: 2 }
  assert.equal((await runTool(catalog, 'skill', input)).text, '2: git push')
  for (const path of ['../other.md', 'link.txt', join(outside, 'secret.txt')]) {
    assert.equal((await runTool(catalog, 'skill', { id: 'release', path })).failure?.type, 'outside_location', path)
  }
  await rm(join(config, 'skills/release/scripts'), { recursive: true })
  assert.equal((await runTool(catalog, 'skill', input)).failure?.type, 'not_found')
})

test('an agent is shown the skills that its rules do not deny', async () => {
  await using catalog = await openCatalog()
  const deny = (resource: string) => ({ action: 'skill', resource, effect: 'deny' })
  await writeFiles(catalog.project, {
    'AGENTS.md': 'Be brief.',
    '.agents/skills/release/SKILL.md': '---\nname: Release it\ndescription: |\n  How we\n  release\n---\nTag it.',
    '.agents/skills/secret/SKILL.md': 'Hush.',
    'opencode.json': JSON.stringify({
      agents: {
        build: { permissions: [deny('sec*')] },
        silent: { permissions: [deny('*')] },
        asked: { permissions: [{ ...deny('release'), effect: 'ask' }] },
      },
    }),
  })
  const listOf = async (agentId: string) =>
    (await catalog.client.getAgent({ agentId }, asOperator)).instructions
      .slice(1)
      .map((text) => text.split('\n').slice(1))
  assert.deepEqual(await listOf('build'), [['- release (Release it: How we release)']])
  assert.deepEqual(await listOf('asked'), [['- release (Release it: How we release)', '- secret']])
  assert.deepEqual(await listOf('silent'), [])
  assert.deepEqual(await listOf('explore'), [], 'one that may do nothing but search')
})

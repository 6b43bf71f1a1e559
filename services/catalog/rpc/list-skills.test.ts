import assert from 'node:assert/strict'
import { rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, type CatalogFixture, catalogTest, git, openCatalog, writeFiles } from '#test/support/catalog.ts'

const skill = (description: string, text = 'Do it.', more = '') =>
  `---\ndescription: ${description}\n${more}---\n${text}\n`

const skillsOf = async ({ client }: CatalogFixture, directory?: string) =>
  (await client.listSkills(directory === undefined ? {} : { directory }, asOperator)).skills

/** Skills as `id: description`. */
const listed = async (catalog: CatalogFixture, directory?: string) =>
  (await skillsOf(catalog, directory)).map(({ skillId, description }) => `${skillId}: ${description}`)

catalogTest('lists skills in order of their ids, with what their files say', async (catalog) => {
  const { project } = catalog
  await writeFiles(project, {
    '.opencode/skills/release/SKILL.md': skill('Releases', 'Tag it.', 'name: Release it\nlicense: MIT\n'),
    '.opencode/skills/release/notes/SKILL.md': skill('belongs to the skill above'),
    '.opencode/skills/team/review/SKILL.md': 'Be strict.',
    '.opencode/skills/README.md': 'no skill',
  })
  const { location, skills, generation } = await catalog.client.listSkills({}, asOperator)
  assert.equal(location?.directory, project)
  assert.equal(generation, (await catalog.client.getAgent({}, asOperator)).generation)
  assert.deepEqual(
    skills.map(({ $typeName: _, ...one }) => one),
    [
      {
        ...{ skillId: 'release', name: 'Release it', description: 'Releases', text: 'Tag it.' },
        path: join(project, '.opencode/skills/release/SKILL.md'),
      },
      {
        ...{ skillId: 'team/review', name: 'team/review', text: 'Be strict.' },
        path: join(project, '.opencode/skills/team/review/SKILL.md'),
      },
    ],
  )
})

test('the nearest of several skills with one id counts: the home, the configuration, the project, the location', async () => {
  await using catalog = await openCatalog()
  const { project, config } = catalog
  git(project, 'init')
  git(project, 'commit', '--allow-empty', '-m', 'first')
  const inner = join(project, 'src/app')
  await writeFiles(inner, { 'a.txt': '' })
  const places: readonly (readonly [directory: string, folder: string])[] = [
    [join(project, '..'), '.agents/skills'],
    [join(project, '..'), '.claude/skills'],
    [config, 'skills'],
    [project, '.claude/skills'],
    [project, '.agents/skills'],
    [project, '.opencode/skills'],
    [join(project, 'src'), '.claude/skills'],
    [inner, '.opencode/skills'],
  ]
  for (const [i, [directory, folder]] of places.entries()) {
    await writeFiles(directory, {
      [`${folder}/one/SKILL.md`]: skill(`d${i}`),
      [`${folder}/s${i}/SKILL.md`]: skill('own'),
    })
    assert.equal((await listed(catalog, inner))[0], `one: d${i}`, folder)
  }
  assert.equal((await listed(catalog, inner)).length, places.length + 1)
  assert.equal((await listed(catalog, project))[0], 'one: d5', 'what lies below is not of a location above')
})

test('a file that is not a skill is logged, and counts as it was before', async () => {
  await using catalog = await openCatalog()
  // Replaced as a whole: a file that is read half written would be logged, too.
  const write = async (text: string) => {
    await writeFiles(catalog.project, { next: text })
    await rename(join(catalog.project, 'next'), join(catalog.project, '.agents/skills/one/SKILL.md'))
  }
  await writeFiles(catalog.project, {
    '.agents/skills/one/SKILL.md': skill('good'),
    '.agents/skills/two/SKILL.md': '---\nname: [a]\n---\n',
  })
  assert.deepEqual(await listed(catalog), ['one: good'])
  const bad = ['---\n- a\n---\n', '---\na: [\n---\n', skill('x'.repeat(1_025)), skill('large', 'x'.repeat(64 << 10))]
  for (const text of bad) {
    await write(text)
    assert.deepEqual(await listed(catalog), ['one: good'], text.slice(0, 40))
  }
  const skipped = catalog.warnings.filter(({ problem = '' }) => !problem.includes('no description'))
  assert.equal(skipped.length, bad.length + 1)
  await rm(join(catalog.project, '.agents'), { recursive: true })
  assert.deepEqual(await listed(catalog), [])
})

catalogTest(
  'front matter that is invalid YAML because of a colon, an asterisk or an exclamation mark is read as intended, or its problem is named',
  async (catalog) => {
    const loose = 'name: one\ndescription: Use when: a release\n  is due: now\nargument-hint: [tag] [notes]\n'
    await writeFiles(catalog.project, {
      '.claude/skills/one/SKILL.md': `---\n${loose}metadata:\n  a: b\n---\nDo it.`,
      '.claude/skills/star/SKILL.md': '---\ndescription: *always* before a release\n---\nDo it.',
      '.claude/skills/mark/SKILL.md': '---\ndescription: !important before a release\n---\nDo it.',
      '.claude/skills/mention/SKILL.md': '---\ndescription: *e\n---\nDo it.',
      '.claude/skills/alias/SKILL.md': '---\ndescription: x\nmetadata:\n  a: *e\n---\nDo it.',
      '.claude/skills/two/SKILL.md': '---\r\nname: two\r\ndescription: "Use when\r\n---\r\nDo it.',
      '.opencode/agent/lax.md': '---\ndescription: Example: user says "go"\nmode: subagent\n---\nBe lax.',
    })
    assert.deepEqual(await listed(catalog), [
      'mark: !important before a release',
      'mention: *e',
      'one: Use when: a release is due: now',
      'star: *always* before a release',
    ])
    const { agent } = await catalog.client.getAgent({ agentId: 'lax' }, asOperator)
    assert.deepEqual([agent?.description, agent?.system], ['Example: user says "go"', 'Be lax.'])
    assert.deepEqual(
      catalog.warnings.map(({ path, problem }) => `${path?.slice(catalog.project.length)} ${problem}`).sort(),
      [
        '/.claude/skills/alias/SKILL.md DocumentError: the front matter is not YAML: Unresolved alias (the anchor must be set before the alias): e',
        '/.claude/skills/two/SKILL.md DocumentError: the front matter is not YAML: Missing closing "quote at line 3, column 23',
      ],
    )
  },
)

test('a misnamed or malformed skill is accepted, or logged once with its path and what to do', async () => {
  await using catalog = await openCatalog()
  const { project, config } = catalog
  await writeFiles(project, {
    '.opencode/skill/one/SKILL.md': skill('singular', 'Do it.', 'name: one\n'),
    '.opencode/skills/other/SKILL.md': skill('named', 'Do it.', 'name: else\n'),
    '.opencode/skills/team/case/Skill.md': skill('lower case', 'Do it.', 'name: case\n'),
    '.opencode/skills/mute/SKILL.md': 'Do it.',
    'opencode.json':
      '{"$schema":"","agent":{},"permission":{"bash":"deny"},"mode":{},"lsp":{},"mcp":{"one":{"env":{}}}}',
  })
  await writeFiles(config, { 'skill/two/skill.md': skill('of the user') })
  const expected = ['mute: undefined', 'one: singular', 'other: named', 'team/case: lower case', 'two: of the user']
  assert.deepEqual(await listed(catalog), expected)
  await writeFiles(project, { '.opencode/skills/team/case/Skill.md': skill('changed') })
  assert.ok((await listed(catalog)).includes('team/case: changed'))
  assert.deepEqual(
    catalog.warnings.map(({ path, problem }) => `${path?.slice(project.length + 1)}: ${problem}`).sort(),
    [
      '.opencode/skills/mute/SKILL.md: the front matter has no description: without it the model does not know when to read the skill',
      '.opencode/skills/other/SKILL.md: the name else is only shown: its id is other, the name of its folder; give both the same name',
      'opencode.json: mcp.one: unknown keys: env (known keys: type, command, environment, cwd, url, headers, oauth, timeout, enabled)',
      'opencode.json: unknown keys: mode, lsp (known keys: agents, permissions, default_agent, mcp, plugins)',
    ],
  )
})

test('links are followed within the project, and not out of it', async () => {
  await using catalog = await openCatalog()
  const { project, outside } = catalog
  await writeFiles(project, { 'docs/one/SKILL.md': skill('inside'), '.claude/skills/own/SKILL.md': skill('own') })
  await writeFiles(outside, { 'two/SKILL.md': skill('outside') })
  await symlink('../../docs/one', join(project, '.claude/skills/one'))
  await symlink(join(outside, 'two'), join(project, '.claude/skills/two'))
  await symlink('..', join(project, '.claude/skills/up'))
  assert.deepEqual(await listed(catalog), ['one: inside', 'own: own'])
})

test('lists at most 256 skills of a location, the nearest ones, and none that is nested too deep', async () => {
  await using catalog = await openCatalog()
  const { project, config } = catalog
  const many = (folder: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/${folder[1]}${i}/SKILL.md`, skill('Many')]))
  await writeFiles(config, many('skills', 10))
  await writeFiles(project, {
    ...many('.opencode/skills', 250),
    '.claude/skills/a/b/c/d/SKILL.md': skill('Four levels'),
    '.claude/skills/a/b/c/e/f/SKILL.md': 'Five.',
  })
  const ids = (await skillsOf(catalog)).map(({ skillId }) => skillId)
  assert.equal(ids.length, 256)
  assert.deepEqual([ids.includes('a/b/c/d'), ids.includes('a/b/c/e/f')], [true, false])
  assert.equal(ids.filter((id) => id.startsWith('k')).length, 5, 'of those further away the rest')
  assert.match(catalog.warnings[0]?.problem ?? '', /more than 256/)
  for (const folder of [join(config, 'skills'), join(project, '.claude')]) await rm(folder, { recursive: true })
  assert.equal((await skillsOf(catalog)).length, 250)
  const { length } = catalog.warnings
  await writeFiles(project, many('.opencode/skills', 300))
  assert.equal((await skillsOf(catalog)).length, 256)
  assert.match(catalog.warnings[length]?.problem ?? '', /more than 256/, 'of one folder')
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'

const release = '---\nname: Release\ndescription: How to release\n---\nTag it.\n'

test('skill.list answers the location and its skills', async () => {
  await using portico = await openPortico(
    {},
    { '.claude/skills/release/SKILL.md': release, '.opencode/skills/a/SKILL.md': 'A.' },
  )
  const answer = await portico.fetch('/api/skill')
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), {
    location: { directory: portico.project },
    data: [
      { id: 'a', name: 'a', location: join(portico.project, '.opencode/skills/a/SKILL.md'), content: 'A.' },
      {
        id: 'release',
        name: 'Release',
        description: 'How to release',
        location: join(portico.project, '.claude/skills/release/SKILL.md'),
        content: 'Tag it.',
      },
    ],
  })
})

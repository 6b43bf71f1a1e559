import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skillList } from './skill.ts'

test('the list of skills is bounded, and says how many it leaves out', () => {
  const skills = Array.from({ length: 256 }, (_, i) => ({
    ...{ id: `s${i}`, name: `s${i}`, description: 'd'.repeat(1_000), text: '', path: '' },
  }))
  const list = skillList(skills, [])
  assert.ok(list !== undefined && list.length < 17_000)
  assert.match(list, /\n- s15 .*\n\(240 more are not listed here\.\)$/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { SkillSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { skillList } from './skill.ts'

test('bounds the list of skills, and says how many it leaves out', () => {
  const skills = Array.from({ length: 256 }, (_, i) =>
    create(SkillSchema, { skillId: `s${i}`, name: `s${i}`, description: 'd'.repeat(1_000) }),
  )
  const list = skillList(skills, [])
  assert.ok(list !== undefined && list.length < 17_000)
  assert.match(list, /\n- s15 .*\n\(240 more are not listed here\.\)$/)
})

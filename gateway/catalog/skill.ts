import { z } from 'zod'
import type { Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'

/** `Skill.Info`. */
const skillInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().optional(),
    location: z
      .string()
      .meta({ description: 'Absolute path of its file; everything else in that folder belongs to it' }),
    content: z.string(),
  })
  .meta({ id: 'Skill.Info' })

function fromSkill({ skillId, name, description, path, text }: Skill): JsonOf<typeof skillInfo> {
  return { id: skillId, name, description, location: path, content: text }
}

export const listSkills = operation({
  id: 'skill.list',
  method: 'get',
  path: '/api/skill',
  summary: 'Skills of a location',
  query: locationQuery,
  headers: locationHeaders,
  answer: z.strictObject({ location: locationRef, data: z.array(skillInfo) }),
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.listSkills({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location, skills }) => ({ location: fromLocationRef(location), data: skills.map(fromSkill) }),
})

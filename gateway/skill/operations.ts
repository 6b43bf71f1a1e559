import { z } from 'zod'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromSkill } from './mappers.ts'
import { skillInfo } from './schemas.ts'

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

import { z } from 'zod'
import { OF_SESSIONS } from '../credentials.ts'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromSkill } from './mappers.ts'
import { skillInfo } from './schemas.ts'

export const listSkills = operation({
  id: 'skill.list',
  method: 'get',
  path: '/api/skill',
  family: 'instance',
  credentials: OF_SESSIONS,
  summary: 'Skills of a location',
  query: locationQuery,
  headers: locationHeaders,
  answer: z.strictObject({ location: locationRef, data: z.array(skillInfo) }),
  errors: ['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN'],
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.listSkills({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location, skills }) => ({ location: fromLocationRef(location), data: skills.map(fromSkill) }),
})

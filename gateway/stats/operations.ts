import { z } from 'zod'
import { operation } from '../operation.ts'
import { fromSessionStats, toGetSessionStats } from './mappers.ts'
import { sessionStats, statsQuery } from './schemas.ts'

export const getSessionStats = operation({
  id: 'experimental.session.stats',
  method: 'get',
  path: '/api/experimental/session/stats',
  summary: 'The activity of sessions in a range of time',
  description: 'Days are those of the time zone. What a fork copied does not count again.',
  query: statsQuery,
  answer: z.strictObject({ data: sessionStats }),
  errors: ['REQUEST_INVALID'],
  handle: ({ session }, { query, call }) => session.getSessionStats(toGetSessionStats(query), call.options()),
  present: ({ stats }) => ({ data: fromSessionStats(stats) }),
})

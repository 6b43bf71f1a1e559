import { z } from 'zod'
import { OF_USERS } from '../credentials.ts'
import { operation } from '../operation.ts'
import { fromCost } from '../records/usage.ts'
import { fromActivity, fromGenerationRecord } from './mappers.ts'
import { activityItem, activityQuery, credits, generationQuery, generationRecord } from './schemas.ts'

export const getGeneration = operation({
  id: 'usage.generation',
  method: 'get',
  path: '/api/v1/generation',
  credentials: OF_USERS,
  summary: 'The usage and cost of a generation of the workspace, once it has ended',
  query: generationQuery,
  answer: z.strictObject({ data: generationRecord }),
  errors: ['GENERATION_NOT_FOUND', 'REQUEST_INVALID'],
  handle: ({ usage }, { query, call }) => usage.getGeneration({ requestId: query.id }, call.options()),
  present: ({ generation }) => ({ data: fromGenerationRecord(generation) }),
  publicField: () => 'id',
})

export const listActivity = operation({
  id: 'usage.activity',
  method: 'get',
  path: '/api/v1/activity',
  summary: 'The usage of the workspace in the last 30 UTC days, by day, provider and model',
  query: activityQuery,
  answer: z.strictObject({ data: z.array(activityItem) }),
  errors: ['API_KEY_NOT_FOUND', 'REQUEST_INVALID'],
  async handle({ identity, usage }, { query, call }) {
    const { date, api_key_hash: hash, metadata_key: metadataKey } = query
    const key = hash === undefined ? undefined : { key: { case: 'hash', value: hash } as const }
    const { apiKey } = key === undefined ? {} : await identity.getApiKey(key, call.options())
    return usage.listActivity({ date, keyId: apiKey?.keyId, metadataKey }, call.options())
  },
  present: ({ activities }, { query }) => ({
    data: activities.map((activity) => fromActivity(activity, query.metadata_key !== undefined)),
  }),
})

export const getCredits = operation({
  id: 'usage.credits',
  method: 'get',
  path: '/api/v1/credits',
  summary: 'What all keys of the workspace together may spend, and have spent',
  answer: z.strictObject({ data: credits }),
  handle: ({ usage }, { call }) => usage.getWorkspaceUsage({}, call.options()),
  present: ({ spending }, { call }) => ({
    data: {
      total_credits: fromCost(call.terms?.workspaceLimitNanos ?? 0n),
      total_usage: fromCost(spending?.totalNanos ?? 0n),
    },
  }),
})

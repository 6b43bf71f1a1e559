import type { DescField, MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import {
  GetSessionStatsRequest_ToolDetail as Detail,
  GetSessionStatsRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import {
  type CallCounts,
  type SessionStats,
  SessionStatsSchema,
  type ToolStats,
  ToolUsageListSchema,
} from '#gen/portico/session/v1/stats_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromModelRef, modelRef } from '../records/model.ts'
import { time } from '../records/time.ts'
import { cost, fromCost, fromTokenUsage, tokenUsage } from '../records/usage.ts'
import { limitedBy, mostIn } from '../shape.ts'

const milliseconds = z.string().regex(/^\d{1,15}$/, 'must be milliseconds since the epoch')

const statsQuery = z.object({
  from: milliseconds.optional().meta({ description: 'Start of the range; default: the first prompt or step' }),
  to: milliseconds.optional().meta({ description: 'End of the range, exclusive; default: now' }),
  project: limitedBy(GetSessionStatsRequestSchema.field.projectId, z.string().min(1))
    .optional()
    .meta({ description: 'Only sessions of this project' }),
  timezone: z.string().min(1).optional().meta({ description: 'IANA name of a time zone; default: UTC' }),
  tools: z.enum(['none', 'summary', 'detail']).optional().meta({ description: 'Detail about tools; default: summary' }),
})

const count = z.int().min(0)

const counts = { calls: count, succeeded: count, failed: count, unfinished: count }

const toolUsage = z.strictObject({
  name: z.string(),
  ...counts,
  durationP50: z.number().optional().meta({ description: 'Median duration in milliseconds' }),
})

const totals = z.strictObject(counts)

const mostUsed = (list: DescField) => `The ${mostIn(list)} most used ones`

const sessionStats = z
  .strictObject({
    range: z.strictObject({ from: time, to: time }),
    sessions: count.meta({ description: 'Root sessions with a prompt or a step in the range' }),
    subagents: count.meta({ description: 'Child sessions with a prompt or a step in the range' }),
    prompts: count.meta({ description: 'Prompts of root sessions' }),
    steps: count,
    tokens: tokenUsage,
    cost,
    tools: z.union([
      z.strictObject({ mode: z.literal('none') }),
      z.strictObject({ mode: z.literal('summary'), totals }),
      z.strictObject({
        mode: z.literal('detail'),
        totals,
        usage: z.array(toolUsage).meta({ description: mostUsed(ToolUsageListSchema.field.tools) }),
      }),
    ]),
    activeDays: count.meta({ description: 'Days with a step' }),
    streak: count.meta({ description: 'Longest sequence of such days' }),
    activity: z.array(z.strictObject({ date: z.string(), steps: count })),
    models: z
      .array(z.strictObject({ model: modelRef, steps: count, tokens: tokenUsage, cost }))
      .meta({ description: mostUsed(SessionStatsSchema.field.models) }),
  })
  .meta({ id: 'SessionStats.Info' })

const details = enumTable({ none: Detail.NONE, summary: Detail.SUMMARY, detail: Detail.FULL })

function toGetSessionStats({
  from,
  to,
  project,
  timezone,
  tools = 'summary',
}: z.output<typeof statsQuery>): MessageInitShape<typeof GetSessionStatsRequestSchema> {
  return {
    startTime: from === undefined ? undefined : Number(from),
    endTime: to === undefined ? undefined : Number(to),
    projectId: project,
    timeZone: timezone,
    toolDetail: details.toProto(tools),
  }
}

function fromSessionStats(stats: SessionStats | undefined): JsonOf<typeof sessionStats> {
  if (stats === undefined) throw new Error('The session service returned no statistics')
  return {
    range: { from: stats.startTime, to: stats.endTime },
    sessions: stats.sessionCount,
    subagents: stats.childCount,
    prompts: stats.promptCount,
    steps: stats.stepCount,
    tokens: fromTokenUsage(stats.tokens),
    cost: fromCost(stats.costNanos),
    tools: fromToolStats(stats.tools),
    activeDays: stats.days.length,
    streak: stats.streakCount,
    activity: stats.days.map(({ date, stepCount }) => ({ date, steps: stepCount })),
    models: stats.models.map(({ model, stepCount, tokens, costNanos }) => {
      if (model === undefined) throw new Error('The session service returned no model')
      return { model: fromModelRef(model), steps: stepCount, tokens: fromTokenUsage(tokens), cost: fromCost(costNanos) }
    }),
  }
}

function fromToolStats(tools: ToolStats | undefined): JsonOf<typeof sessionStats>['tools'] {
  if (tools === undefined) return { mode: 'none' }
  const totals = fromCounts(tools.totals)
  if (tools.usage === undefined) return { mode: 'summary', totals }
  const usage = tools.usage.tools.map(({ name, calls, medianDurationMs }) => {
    return { name, ...fromCounts(calls), durationP50: medianDurationMs }
  })
  return { mode: 'detail', totals, usage }
}

function fromCounts(counts: CallCounts | undefined) {
  const { succeededCount: succeeded = 0, failedCount: failed = 0, unfinishedCount: unfinished = 0 } = counts ?? {}
  return { calls: succeeded + failed + unfinished, succeeded, failed, unfinished }
}

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

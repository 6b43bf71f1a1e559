import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { z } from 'zod'
import {
  GetSessionStatsRequest_ToolDetail as Detail,
  type GetSessionStatsRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { CallCounts, SessionStats, ToolStats } from '#gen/portico/session/v1/stats_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { fromModelRef } from '../records/model.ts'
import { fromSetTime } from '../records/time.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import type { sessionStats, statsQuery } from './schemas.ts'

const details = enumTable({ none: Detail.NONE, summary: Detail.SUMMARY, detail: Detail.FULL })

export function toGetSessionStats({
  from,
  to,
  project,
  timezone,
  tools = 'summary',
}: z.output<typeof statsQuery>): MessageInitShape<typeof GetSessionStatsRequestSchema> {
  return {
    ...(from === undefined ? {} : { startTime: timestampFromMs(Number(from)) }),
    ...(to === undefined ? {} : { endTime: timestampFromMs(Number(to)) }),
    projectId: project,
    timeZone: timezone,
    toolDetail: details.toProto(tools),
  }
}

export function fromSessionStats(stats: SessionStats | undefined): JsonOf<typeof sessionStats> {
  if (stats === undefined) throw new Error('The session service returned no statistics')
  return {
    range: { from: fromSetTime(stats.startTime), to: fromSetTime(stats.endTime) },
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

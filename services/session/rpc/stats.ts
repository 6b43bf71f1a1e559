import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  GetSessionStatsRequest_ToolDetailSchema,
  GetSessionStatsRequestSchema,
  type SessionService,
  GetSessionStatsRequest_ToolDetail as ToolDetail,
} from '#gen/portico/session/v1/session_service_pb.js'
import { type SessionStats, SessionStatsSchema } from '#gen/portico/session/v1/stats_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, checkEnum, invalid } from '#shared/rpc/parse.ts'
import { Calendar } from '../domain/stats/calendar.ts'
import { Stats } from '../domain/stats/stats.ts'
import type { SessionDependencies } from './dependencies.ts'

const checkRequest = checkLimits(GetSessionStatsRequestSchema)

export function statsHandlers(dependencies: SessionDependencies) {
  const { store, clock } = dependencies
  return {
    /** Adds up what the sessions of the caller's workspace did in a range of time. */
    async getSessionStats(request, context) {
      const { workspaceId } = principalOf(context)
      const { startTime: from, endTime: to = clock.now(), projectId, toolDetail = ToolDetail.SUMMARY } = request
      check(from === undefined || from < to, 'start_time', 'must be before the end of the range')
      checkEnum(GetSessionStatsRequest_ToolDetailSchema, toolDetail, 'tool_detail')
      checkRequest(request)
      const calls = toolDetail !== ToolDetail.NONE
      const stats = new Stats(parseTimeZone(request.timeZone))
      for await (const batch of store.listActivity(workspaceId, { from, to, projectId, calls })) {
        context.signal.throwIfAborted()
        for (const activity of batch) stats.add(activity)
      }
      return { stats: messageOf(stats, from ?? stats.first ?? to, to, toolDetail) }
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

/** An offset would also be accepted as a time zone, but is not the name of one. */
function parseTimeZone(timeZone = 'UTC'): Calendar {
  const unknown = invalid('time_zone', 'must be the IANA name of a time zone')
  if (/^[+-]/.test(timeZone)) throw unknown
  const calendar = Calendar.of(timeZone)
  if (calendar === undefined) throw unknown
  return calendar
}

function messageOf(stats: Stats, startTime: number, endTime: number, detail: ToolDetail): SessionStats {
  const usage = detail === ToolDetail.FULL ? { tools: stats.tools } : undefined
  return create(SessionStatsSchema, {
    ...stats.total,
    startTime,
    endTime,
    sessionCount: stats.sessions,
    childCount: stats.children,
    promptCount: stats.prompts,
    tools: detail === ToolDetail.NONE ? undefined : { totals: stats.calls, usage },
    streakCount: stats.streak,
    days: stats.days,
    models: stats.models,
  })
}

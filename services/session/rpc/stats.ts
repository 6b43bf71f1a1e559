import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  GetSessionStatsRequestSchema,
  type SessionService,
  GetSessionStatsRequest_ToolDetail as ToolDetail,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { CallCountsSchema, SessionStatsSchema, ToolStatsSchema } from '#gen/portico/session/v1/stats_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { Calendar } from '../domain/stats/calendar.ts'
import { type CallCounts, Stats } from '../domain/stats/stats.ts'
import type { SessionDependencies } from './dependencies.ts'
import { toolDetails } from './enums.ts'

const checkRequest = checkLimits(GetSessionStatsRequestSchema)

/** The handler of statistics. */
export function statsHandlers(dependencies: SessionDependencies) {
  const { store, clock } = dependencies
  return {
    /** Adds up what the sessions of the caller's workspace did in a range of time. */
    async getSessionStats(request, context) {
      const { workspaceId } = principalOf(context)
      const from = request.startTime && timestampMs(request.startTime)
      const to = request.endTime === undefined ? clock.now() : timestampMs(request.endTime)
      check(from === undefined || from < to, 'start_time', 'must be before the end of the range')
      const { projectId, toolDetail = ToolDetail.SUMMARY } = request
      const detail = toolDetails.fromProto(toolDetail)
      check(detail !== undefined, 'tool_detail', 'is not a known value')
      checkRequest(request)
      const calls = detail !== 'none'
      const stats = new Stats(parseTimeZone(request.timeZone))
      for await (const batch of store.listActivity(workspaceId, { from, to, projectId, calls })) {
        context.signal.throwIfAborted()
        for (const activity of batch) stats.add(activity)
      }
      return { stats: statsToProto(stats, { from: from ?? stats.first ?? to, to }, detail) }
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

type Detail = (typeof toolDetails.names)[number]

/** Statistics as other services see them. */
export function statsToProto(
  stats: Stats,
  { from, to }: { readonly from: number; readonly to: number },
  detail: Detail,
): MessageInitShape<typeof SessionStatsSchema> {
  const { steps, tokens, costNanos } = stats.total
  return {
    startTime: timestampFromMs(from),
    endTime: timestampFromMs(to),
    sessionCount: stats.sessions,
    childCount: stats.children,
    promptCount: stats.prompts,
    stepCount: steps,
    tokens,
    costNanos,
    tools: detail === 'none' ? undefined : toolsToProto(stats, detail),
    streakCount: stats.streak,
    days: stats.days.map(({ date, steps }) => ({ date, stepCount: steps })),
    models: stats.models.map(({ model, steps, tokens, costNanos }) => {
      return { model, stepCount: steps, tokens, costNanos }
    }),
  }
}

function toolsToProto(stats: Stats, detail: Detail): MessageInitShape<typeof ToolStatsSchema> {
  const totals = callsToProto(stats.calls)
  if (detail !== 'full') return { totals }
  const tools = stats.tools.map(({ name, calls, medianMs }) => {
    return { name, calls: callsToProto(calls), medianDurationMs: medianMs }
  })
  return { totals, usage: { tools } }
}

function callsToProto({ succeeded, failed, unfinished }: CallCounts): MessageInitShape<typeof CallCountsSchema> {
  return { succeededCount: succeeded, failedCount: failed, unfinishedCount: unfinished }
}

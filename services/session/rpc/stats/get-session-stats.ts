import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  GetSessionStatsRequestSchema,
  type SessionService,
  GetSessionStatsRequest_ToolDetail as ToolDetail,
} from '#gen/portico/session/v1/session_service_pb.js'
import { Calendar } from '#services/session/domain/stats/calendar.ts'
import { Stats } from '#services/session/domain/stats/stats.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { Clock } from '#shared/clock.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { toolDetails } from '../enums.ts'
import { statsToProto } from './stats-to-proto.ts'

const checkRequest = checkLimits(GetSessionStatsRequestSchema)

/** Adds up what the sessions of the caller's workspace did in a range of time. */
export function getSessionStats(dependencies: {
  readonly store: SessionStore
  readonly clock: Clock
}): ServiceImpl<typeof SessionService>['getSessionStats'] {
  const { store, clock } = dependencies
  return async (request, context) => {
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
  }
}

/** An offset would also be accepted as a time zone, but is not the name of one. */
function parseTimeZone(timeZone = 'UTC'): Calendar {
  const unknown = invalid('time_zone', 'must be the IANA name of a time zone')
  if (/^[+-]/.test(timeZone)) throw unknown
  const calendar = Calendar.of(timeZone)
  if (calendar === undefined) throw unknown
  return calendar
}

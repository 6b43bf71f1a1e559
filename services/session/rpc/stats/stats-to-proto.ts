import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { CallCountsSchema, SessionStatsSchema, ToolStatsSchema } from '#gen/portico/session/v1/stats_pb.js'
import type { CallCounts, Stats } from '#services/session/domain/stats/stats.ts'
import type { toolDetails } from '../enums.ts'
import { modelToProto, tokensToProto } from '../session/session-to-proto.ts'

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
    tokens: tokensToProto(tokens),
    costNanos,
    ...(detail === 'none' ? {} : { tools: toolsToProto(stats, detail) }),
    streakCount: stats.streak,
    days: stats.days.map(({ date, steps }) => ({ date, stepCount: steps })),
    models: stats.models.map(({ model, steps, tokens, costNanos }) => {
      return { model: modelToProto(model), stepCount: steps, tokens: tokensToProto(tokens), costNanos }
    }),
  }
}

function toolsToProto(stats: Stats, detail: Detail): MessageInitShape<typeof ToolStatsSchema> {
  const totals = callsToProto(stats.calls)
  if (detail !== 'full') return { totals }
  const tools = stats.tools.map(({ name, calls, medianMs }) => {
    return { name, calls: callsToProto(calls), ...(medianMs !== undefined && { medianDurationMs: medianMs }) }
  })
  return { totals, usage: { tools } }
}

function callsToProto({ succeeded, failed, unfinished }: CallCounts): MessageInitShape<typeof CallCountsSchema> {
  return { succeededCount: succeeded, failedCount: failed, unfinishedCount: unfinished }
}

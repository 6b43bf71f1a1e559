import type { DescField } from '@bufbuild/protobuf'
import { z } from 'zod'
import { GetSessionStatsRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { SessionStatsSchema, ToolUsageListSchema } from '#gen/portico/session/v1/stats_pb.js'
import { modelRef } from '../records/model.ts'
import { time } from '../records/time.ts'
import { cost, tokenUsage } from '../records/usage.ts'
import { limitedBy, mostIn } from '../shape.ts'

const milliseconds = z.string().regex(/^\d{1,15}$/, 'must be milliseconds since the epoch')

/** Query of experimental.session.stats. */
export const statsQuery = z.object({
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

/** `SessionStats.Info` (instance facts 1.7). */
export const sessionStats = z
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

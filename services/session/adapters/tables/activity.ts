import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { type Activity, activityOf, type CountedCall } from '#services/session/domain/stats/activity.ts'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { StagedKind } from '#services/session/ports/session-staging.ts'
import {
  decimal,
  defineTable,
  fromRow,
  integer,
  json,
  message,
  optional,
  type RowOf,
  text,
  toRow,
} from '#shared/stores/table.ts'

/** What statistics count of a message. */
export const activity = defineTable({
  name: 'activity',
  columns: {
    workspace: text(),
    timeCreated: integer(),
    /** Id of the message. */
    id: text(),
    type: text<Activity['type']>(),
    model: optional(message(ModelRefSchema)),
    costNanos: optional(decimal()),
    tokens: optional(message(TokenUsageSchema)),
    /** Null where there are none. */
    calls: optional(json<readonly CountedCall[]>('list of name, end, durationMs')),
  },
  sqlite: {
    columns: { session: integer() },
    primaryKey: ['workspace', 'timeCreated', 'id'],
    withoutRowid: true,
    indexes: { activityBySession: '(session)' },
  },
  mongo: {
    /** `seq`: one of the session's numbers. */
    columns: { sessionId: text(), seq: integer() },
    indexes: [
      { name: 'activityByTime', key: { workspace: 1, timeCreated: 1, id: 1 } },
      { name: 'activityBySession', key: { workspace: 1, sessionId: 1 } },
    ],
  },
})

export type ActivityRecord = RowOf<typeof activity.columns> & { readonly sessionId: string; readonly seq: number }

const { type, costNanos, tokens, timeCreated, calls } = activity.columns
/** What statistics read of each: a model as it is stored, which is the same text for the same model. */
export const countedColumns = { type, model: optional(text()), costNanos, tokens, timeCreated }
/** The same with tool calls. */
export const callColumns = { ...countedColumns, calls }

export function activityRecord(
  workspace: string,
  sessionId: string,
  { seq, activity: counted }: { readonly seq: number; readonly activity: Activity },
): ActivityRecord {
  const { calls } = counted
  const stored = { workspace, ...counted, calls: calls.length === 0 ? undefined : calls }
  return { sessionId, seq, ...toRow(activity.columns, stored) }
}

/**
 * What statistics count of a message in a staged session. Copied history counts only in the session that it was copied
 * from.
 */
export function activityOfStaged(kind: StagedKind | 'removal', message: Message): Activity | undefined {
  return kind === 'import' ? activityOf(message) : undefined
}

export function toCounted(
  record: RowOf<typeof countedColumns> | RowOf<typeof callColumns>,
  session: string | number,
  isRoot: boolean,
): CountedActivity {
  const { calls = [], ...counted } = fromRow(callColumns, { calls: null, ...record })
  return { session, isRoot, ...counted, calls }
}

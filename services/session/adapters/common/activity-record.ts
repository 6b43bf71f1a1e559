import type { Message } from '#services/session/domain/message.ts'
import type { ModelRef, TokenUsage } from '#services/session/domain/session.ts'
import { type Activity, activityOf, type CountedCall } from '#services/session/domain/stats/activity.ts'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { StagedKind } from '#services/session/ports/session-staging.ts'
import { type MessageRecord, type PartRecord, toStoredMessage } from './message-record.ts'

/** What statistics count of a message. */
export interface ActivityRecord {
  readonly workspace: string
  /** Id of the message. */
  readonly id: string
  readonly sessionId: string
  /** One of the session's numbers. */
  readonly seq: number
  readonly type: Activity['type']
  /** JSON with its members in a fixed order, since models are compared as strings. */
  readonly model: string | null
  /** Decimal. */
  readonly costNanos: string | null
  /** JSON. */
  readonly tokens: string | null
  /** JSON; null where there are none. */
  readonly calls: string | null
  readonly timeCreated: number
}

/** What is read of a record. */
export type CountedRecord = Pick<ActivityRecord, 'type' | 'model' | 'costNanos' | 'tokens' | 'timeCreated'> & {
  readonly calls?: string | null
}

export function activityRecord(
  workspace: string,
  sessionId: string,
  { seq, activity }: { readonly seq: number; readonly activity: Activity },
): ActivityRecord {
  const { id, timeCreated, type, model, tokens, costNanos, calls } = activity
  return {
    workspace,
    id,
    sessionId,
    seq,
    type,
    timeCreated,
    model: model === undefined ? null : modelText(model),
    costNanos: costNanos?.toString() ?? null,
    tokens: tokens === undefined ? null : JSON.stringify(tokens),
    calls: calls.length === 0 ? null : JSON.stringify(calls),
  }
}

/**
 * What statistics count of a message in a staged session. Copied history counts only in the session that it was copied
 * from.
 */
export function activityOfStaged(kind: StagedKind | 'removal', message: Message): Activity | undefined {
  return kind === 'import' ? activityOf(message) : undefined
}

/** The record of a message that was stored before activity was recorded; undefined: nothing of it counts. */
export function activityOfStored(record: MessageRecord, parts: readonly PartRecord[]): ActivityRecord | undefined {
  const { seq, message } = toStoredMessage(record, parts)
  const activity = activityOf(message)
  return activity && activityRecord(record.workspace, record.sessionId, { seq, activity })
}

export function toCounted(record: CountedRecord, session: string | number, isRoot: boolean): CountedActivity {
  const { type, model, tokens, costNanos, calls = null, timeCreated } = record
  return {
    session,
    isRoot,
    type,
    timeCreated,
    model: model ?? undefined,
    tokens: tokens === null ? undefined : (JSON.parse(tokens) as TokenUsage),
    costNanos: costNanos === null ? undefined : BigInt(costNanos),
    calls: calls === null ? [] : (JSON.parse(calls) as CountedCall[]),
  }
}

function modelText({ providerId, modelId, variant }: ModelRef): string {
  return JSON.stringify({ providerId, modelId, variant })
}

import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type AssistantTool, type Message, AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { callsOf } from '../message.ts'

/** A tool call, as statistics count it. */
export interface CountedCall {
  readonly name: string
  readonly end: 'succeeded' | 'failed' | 'unfinished'
  /** Undefined: it has no end. */
  readonly durationMs: number | undefined
}

/** A message, as statistics count it. */
export interface Activity {
  /** The message's. */
  readonly id: string
  readonly timeCreated: number
  readonly type: 'prompt' | 'step' | 'compaction'
  /** Of a step. */
  readonly model: ModelRef | undefined
  readonly tokens: TokenUsage | undefined
  readonly costNanos: bigint | undefined
  /** Of a step. */
  readonly calls: readonly CountedCall[]
}

/** The statistics of a message; undefined: it does not count, or not yet. */
export function activityOf(message: Message): Activity | undefined {
  const { messageId: id, createTime: timeCreated, kind } = message
  const named = { id, timeCreated }
  if (kind.case === 'user') {
    return { ...named, type: 'prompt', model: undefined, tokens: undefined, costNanos: undefined, calls: [] }
  }
  if (kind.case === 'compaction') {
    const { tokens, costNanos } = kind.value
    if (tokens === undefined && costNanos === undefined) return undefined
    return { ...named, type: 'compaction', model: undefined, tokens, costNanos, calls: [] }
  }
  if (kind.case !== 'assistant' || kind.value.completeTime === undefined) return undefined
  const { model, tokens, costNanos, parts } = kind.value
  return { ...named, type: 'step', model, tokens, costNanos, calls: callsOf(parts).map(toCall) }
}

function toCall({ name, state, createTime, runTime, completeTime }: AssistantTool): CountedCall {
  const end = state === State.COMPLETED ? 'succeeded' : state === State.ERROR ? 'failed' : 'unfinished'
  return { name, end, durationMs: completeTime === undefined ? undefined : completeTime - (runTime ?? createTime) }
}

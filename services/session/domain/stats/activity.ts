import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type AssistantTool, AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { callsOf, type Message } from '../message.ts'

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
  const { id, timeCreated } = message
  const named = { id, timeCreated }
  if (message.type === 'user') {
    return { ...named, type: 'prompt', model: undefined, tokens: undefined, costNanos: undefined, calls: [] }
  }
  if (message.type === 'compaction') {
    const { tokens, costNanos } = message
    if (tokens === undefined && costNanos === undefined) return undefined
    return { ...named, type: 'compaction', model: undefined, tokens, costNanos, calls: [] }
  }
  if (message.type !== 'assistant' || message.timeCompleted === undefined) return undefined
  const { model, tokens, costNanos, parts } = message
  return { ...named, type: 'step', model, tokens, costNanos, calls: callsOf(parts).map(toCall) }
}

function toCall({ name, state, createTime, runTime, completeTime }: AssistantTool): CountedCall {
  const end = state === State.COMPLETED ? 'succeeded' : state === State.ERROR ? 'failed' : 'unfinished'
  return { name, end, durationMs: completeTime === undefined ? undefined : completeTime - (runTime ?? createTime) }
}

import type { JsonObject } from '#shared/json.ts'
import type { ModelRef, TokenUsage } from '../session.ts'
import type { StructuredError } from './content.ts'

/** What every message has. */
export interface MessageBase {
  readonly id: string
  readonly timeCreated: number
  /** That of a user's or a synthetic message is with what it says. */
  readonly metadata?: JsonObject
}

/** Instructions that changed. */
export interface SystemMessage extends MessageBase {
  readonly type: 'system'
  readonly text: string
  readonly description?: string
}

/** A skill that was loaded. */
export interface SkillMessage extends MessageBase {
  readonly type: 'skill'
  readonly skill: string
  readonly name: string
  readonly text: string
}

/** A command that a user ran. */
export interface ShellMessage extends MessageBase {
  readonly type: 'shell'
  readonly shellId: string
  readonly command: string
  readonly status: 'running' | 'exited' | 'timeout' | 'killed'
  readonly exit?: number
  readonly output?: ShellOutput
  readonly timeCompleted?: number
}

/** What a command printed; `cursor` and `size` are bytes. */
export interface ShellOutput {
  readonly output: string
  readonly cursor: number
  readonly size: number
  readonly truncated: boolean
}

/** The conversation up to here, summarized. */
export interface CompactionMessage extends MessageBase {
  readonly type: 'compaction'
  readonly status: 'running' | 'completed' | 'failed'
  readonly manual: boolean
  /** Undefined with `failed`, as what is kept of the newest messages. */
  readonly summary?: string
  readonly recent?: string
  readonly model?: ModelRef
  readonly providerState?: JsonObject
  /** What a provider made of the conversation to go on with. */
  readonly providerContext?: JsonObject
  readonly costNanos?: bigint
  readonly tokens?: TokenUsage
  readonly error?: StructuredError
  /** Steps since the last input before it; nobody is shown this, nor the next. */
  readonly stepsBefore?: number
  /** It began its run: what an ended run left is not gone on with. */
  readonly alone?: true
}

/**
 * Whether a compaction stands for all that comes before it. One that only the provider can read that made it does not: no
 * other one could go on with it.
 */
export function summarizes({ status, summary = '', providerContext }: CompactionMessage): boolean {
  return status === 'completed' && (providerContext === undefined || summary.trim() !== '')
}

import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { ShellCommand, SkillText, StructuredError, SystemText } from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** What every message has. */
export interface MessageBase {
  readonly id: string
  readonly timeCreated: number
  /** User and synthetic messages have it in their content. */
  readonly metadata?: JsonObject
}

/** Instructions that changed. */
export interface SystemMessage extends MessageBase {
  readonly type: 'system'
  readonly system: SystemText
}

/** A skill that was loaded. */
export interface SkillMessage extends MessageBase {
  readonly type: 'skill'
  readonly skill: SkillText
}

/** A command that a user ran. */
export interface ShellMessage extends MessageBase {
  readonly type: 'shell'
  readonly shell: ShellCommand
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
  /** A provider's own form of the conversation so far. */
  readonly providerContext?: JsonObject
  readonly costNanos?: bigint
  readonly tokens?: TokenUsage
  readonly error?: StructuredError
  /** Steps since the last input before it. Like the next member, this is internal. */
  readonly stepsBefore?: number
  /** It began its run, which therefore does not continue an earlier one. */
  readonly alone?: true
}

/**
 * Whether a compaction replaces everything before it. One that only its own provider can read does not, since other
 * providers could not continue from it.
 */
export function summarizes({ status, summary = '', providerContext }: CompactionMessage): boolean {
  return status === 'completed' && (providerContext === undefined || summary.trim() !== '')
}

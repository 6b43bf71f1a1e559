import type { ModelRef, ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type {
  Delivery,
  ForkOrigin,
  InboxItem,
  Outcome,
  PermissionReply,
  PermissionRequest,
  PermissionRuleset,
  Session,
  SessionLocation,
  SyntheticText,
  TokenUsage,
} from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** Which part of a step an event is about. */
export interface PartRef {
  readonly messageId: string
  readonly kind: 'text' | 'reasoning' | 'tool-input'
  /** Number of the part in its message, from 0. */
  readonly ordinal: number
  /** With `tool-input`. */
  readonly callId?: string
  readonly toolName?: string
}

/** What was used of models. */
export interface Usage {
  readonly costNanos: bigint
  readonly tokens: TokenUsage
}

/** What is stored in the event log. */
export type DurableEventData =
  | { readonly type: 'session-created'; readonly session: Session }
  | { readonly type: 'session-forked'; readonly fork: ForkOrigin }
  /** The last event of its session; `above`: the ids of its ancestors, nearest first, if there were any. */
  | { readonly type: 'session-deleted'; readonly above?: readonly string[] }
  | { readonly type: 'agent-selected'; readonly agent: string; readonly previous: string | undefined }
  | { readonly type: 'model-selected'; readonly model: ModelRef; readonly previous: ModelRef | undefined }
  | { readonly type: 'inbox-enqueued'; readonly item: InboxItem }
  | { readonly type: 'inbox-delivered'; readonly messageId: string }
  | { readonly type: 'inbox-cancelled'; readonly messageId: string }
  | { readonly type: 'inbox-delivery-changed'; readonly messageId: string; readonly delivery: Delivery }
  | { readonly type: 'synthetic-added'; readonly messageId: string; readonly synthetic: SyntheticText }
  | { readonly type: 'session-moved'; readonly location: SessionLocation }
  | { readonly type: 'execution-started' }
  | {
      readonly type: 'execution-ended'
      readonly outcome: Outcome
      readonly error: StructuredError | undefined
      readonly reason: 'user' | 'shutdown' | undefined
    }
  | { readonly type: 'step-started'; readonly messageId: string; readonly agent: string; readonly model: ModelRef }
  | { readonly type: 'step-streamed'; readonly messageId: string }
  | {
      readonly type: 'step-ended'
      readonly messageId: string
      readonly finish: string
      readonly rawFinish: string | undefined
      readonly costNanos: bigint
      readonly tokens: TokenUsage
      /** The usage of the whole session, this included. */
      readonly sessionUsage?: Usage
    }
  | {
      readonly type: 'step-failed'
      readonly messageId: string
      readonly error: StructuredError
      readonly finish?: string
      /** Where the provider had ended its answer. */
      readonly usage?: Usage
      /** The usage of the whole session, this included. */
      readonly sessionUsage?: Usage
    }
  | {
      readonly type: 'retry-scheduled'
      readonly messageId: string
      readonly attempt: number
      readonly at: number
      readonly error: StructuredError
    }
  | { readonly type: 'part-started'; readonly part: PartRef }
  | {
      readonly type: 'part-ended'
      readonly part: PartRef
      readonly text: string
      /** What a provider wants back with its reasoning. */
      readonly state?: JsonObject | undefined
    }
  | { readonly type: 'tool-called'; readonly messageId: string; readonly callId: string; readonly input: JsonObject }
  | {
      readonly type: 'tool-succeeded'
      readonly messageId: string
      readonly callId: string
      readonly content: readonly ToolContent[]
      readonly metadata: JsonObject | undefined
    }
  | {
      readonly type: 'tool-failed'
      readonly messageId: string
      readonly callId: string
      readonly error: StructuredError
      readonly content: readonly ToolContent[]
      readonly metadata: JsonObject | undefined
    }
  | { readonly type: 'permission-asked'; readonly request: PermissionRequest }
  | { readonly type: 'session-renamed'; readonly title: string }
  | { readonly type: 'session-metadata-updated'; readonly metadata: JsonObject }
  | { readonly type: 'session-permissions-updated'; readonly permissions: PermissionRuleset }
  | { readonly type: 'session-viewed'; readonly idleTime: number }
  | {
      readonly type: 'usage-recorded'
      /** What for. */
      readonly purpose: 'title' | 'compaction'
      readonly costNanos: bigint
      readonly tokens: TokenUsage
      /** The usage of the whole session, this included. */
      readonly sessionUsage?: Usage
    }
  | {
      readonly type: 'compaction-started'
      readonly messageId: string
      readonly manual: boolean
      readonly recent: string
    }
  | {
      readonly type: 'compaction-ended'
      readonly messageId: string
      readonly manual: boolean
      readonly text: string
      readonly recent: string
    }
  | {
      readonly type: 'compaction-failed'
      readonly messageId: string
      readonly manual: boolean
      readonly error: StructuredError
    }
  | { readonly type: 'permission-replied'; readonly requestId: string; readonly reply: PermissionReply }

/** An event that says what was used, with what its session has used by then. */
export function withTotals(data: DurableEventData, { costNanos, tokens }: Usage): DurableEventData {
  const { type } = data
  const says =
    type === 'step-ended' || type === 'usage-recorded' || (type === 'step-failed' && data.usage !== undefined)
  return says ? { ...data, sessionUsage: { costNanos, tokens } } : data
}

/** What only listeners receive. */
export type VolatileEventData =
  | { readonly type: 'part-extended'; readonly part: PartRef; readonly delta: string }
  | { readonly type: 'step-retried'; readonly messageId: string }
  | { readonly type: 'compaction-extended'; readonly messageId: string; readonly delta: string }
  | {
      readonly type: 'tool-progressed'
      readonly messageId: string
      readonly callId: string
      readonly metadata: JsonObject
    }

interface EventBase {
  readonly id: string
  readonly workspace: string
  readonly sessionId: string
  readonly directory: string
  readonly timeCreated: number
}

/** An event in the log. */
export interface DurableEvent extends EventBase {
  /** Number within the session, growing. */
  readonly seq: number
  /** Position in the log of all events; opaque, made by the store. */
  readonly position: string
  readonly data: DurableEventData
}

/** An event that is never stored. */
export interface VolatileEvent extends EventBase {
  /** The last durable event of the session before it; listeners get it after that one. */
  readonly afterSeq: number
  readonly data: VolatileEventData
}

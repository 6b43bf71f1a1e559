import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type {
  Delivery,
  InboxItem,
  PermissionReply,
  PermissionRequest,
  PermissionRuleset,
} from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { PartPlace } from './event.ts'
import type { Admitter } from './inbox.ts'
import type { MessageOf } from './message.ts'
import type { Activity } from './stats/activity.ts'

/** One record that a use case writes besides the session's own. */
export type Write =
  | {
      readonly type: 'admit'
      readonly seq: number
      readonly item: InboxItem
      readonly digest: string
      readonly admitter: Admitter
    }
  | { readonly type: 'deliver'; readonly id: string; readonly timeDelivered: number }
  | { readonly type: 'redeliver'; readonly id: string; readonly delivery: Delivery }
  | { readonly type: 'cancel'; readonly id: string; readonly timeCancelled: number }
  | { readonly type: 'insert'; readonly seq: number; readonly message: Message }
  | {
      readonly type: 'update'
      readonly message: MessageOf<'assistant' | 'compaction'>
      /** Whether anything apart from its parts has changed. */
      readonly own: boolean
      /** The numbers of the changed parts. */
      readonly changed: readonly number[]
    }
  | {
      readonly type: 'event'
      readonly seq: number
      readonly event: SessionEvent
      /** The part that contains the text of the event. */
      readonly part: PartPlace | undefined
    }
  | { readonly type: 'count'; readonly seq: number; readonly activity: Activity }
  | { readonly type: 'request'; readonly seq: number; readonly request: PermissionRequest }
  | { readonly type: 'answer'; readonly requestId: string; readonly reply: PermissionReply; readonly message: string }
  | {
      readonly type: 'describe'
      /** What is absent stays as it is. */
      readonly title?: string
      readonly metadata?: JsonObject
      readonly permissions?: PermissionRuleset
    }
  | { readonly type: 'approve'; readonly projectId: string; readonly action: string; readonly pattern: string }

import type { Delivery, Prompt, SessionLocation, SyntheticText } from '#gen/portico/session/v1/session_pb.js'

/** The principal on whose behalf something was admitted; inference checks the key again when it spends. */
export interface Admitter {
  readonly organizationId: string
  readonly workspaceId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  readonly kind: 'workspace' | 'personal' | 'management' | 'local-operator'
}

/** An admitted item, which enters the conversation in turn. Each type has its own content. */
export type InboxItem = PromptItem | SyntheticItem | MoveItem | CompactionItem

/** Inputs, which enter the conversation for the model; all waiting steers enter together. */
export type InputItem = PromptItem | SyntheticItem

/** Control items, which change the session itself and enter at a boundary of their own. */
export type ControlItem = Exclude<InboxItem, InputItem>

interface ItemBase {
  /** Also the id of the message that it becomes. */
  readonly id: string
  readonly sessionId: string
  readonly delivery: Delivery
  readonly timeCreated: number
}

/** What a user said. */
export interface PromptItem extends ItemBase {
  readonly type: 'prompt'
  readonly prompt: Prompt
}

/** A text that a program adds. */
export interface SyntheticItem extends ItemBase {
  readonly type: 'synthetic'
  readonly synthetic: SyntheticText
}

/** The session moves. */
export interface MoveItem extends ItemBase {
  readonly type: 'move'
  readonly move: SessionLocation
}

/** The conversation is summarized. */
export interface CompactionItem extends ItemBase {
  readonly type: 'compaction'
  readonly compaction: Readonly<Record<never, never>>
}

/** Whether an item is one that enters by itself. */
export function isControl(item: InboxItem): item is ControlItem {
  return item.type === 'move' || item.type === 'compaction'
}

/** An admission of any type. */
export interface Admission {
  readonly id: string
  readonly delivery: Delivery
  /** Digest of the request as the client sent it; a second admission of the id must have the same. */
  readonly digest: string
  readonly admitter: Admitter
  /** Wakes the session: it becomes due. */
  readonly wake: boolean
}

/** An input of a user that a client hands in. */
export interface PromptAdmission extends Admission {
  readonly prompt: Prompt
}

/** A synthetic text that a client hands in. */
export interface SyntheticAdmission extends Admission {
  readonly synthetic: SyntheticText
}

/** A move that a client requests. */
export interface MoveAdmission extends Admission {
  readonly move: SessionLocation
}

/** A compaction that a client requests. */
export type CompactionAdmission = Admission

/** An item of an inbox, and what became of it: it waits, has entered the conversation, or was cancelled. */
export interface KnownItem {
  readonly item: InboxItem
  readonly state: 'waiting' | 'delivered' | 'cancelled'
}

/** The existing use of an id in the workspace. */
export interface TakenId {
  readonly sessionId: string
  /** The item as it was admitted; undefined: a message that was never an item. */
  readonly input: (KnownItem & { readonly digest: string }) | undefined
}

/** An inbox item with what clients do not see. */
export interface WaitingInput {
  readonly seq: number
  readonly item: InboxItem
  readonly admitter: Admitter
}

/** How many items may wait in an inbox. */
export const MOST_INBOX_ITEMS = 1_000

/** What the admission of an id depends on, besides the state of the session. */
export interface AdmissionReads {
  /** The existing use of the id. */
  readonly taken: TakenId | undefined
  /** The inbox takes no other item. */
  readonly full: boolean
}

/** Waiting items of an inbox, in order of admission: the steers that enter together, and the first two queued items. */
export interface WaitingInputs {
  readonly steers: readonly WaitingInput[]
  readonly queued: readonly WaitingInput[]
  /** There are other steers, after these. */
  readonly more: boolean
}

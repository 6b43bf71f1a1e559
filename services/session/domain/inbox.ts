import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Delivery, InboxItem } from '#gen/portico/session/v1/session_pb.js'
import { blobIn } from './message.ts'

/** The principal on whose behalf something was admitted; inference checks the key again when it spends. */
export interface Admitter {
  readonly organizationId: string
  readonly workspaceId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  readonly kind: 'workspace' | 'personal' | 'management' | 'local-operator'
}

/** What an item brings into the conversation, or does to the session. */
export type Payload = Exclude<InboxItem['payload'], { readonly case: undefined }>

/**
 * Whether an item changes the session itself, and enters at a boundary of its own. The others are inputs for the model;
 * all waiting steers enter together.
 */
export function isControl({ payload }: InboxItem): boolean {
  return payload.case === 'move' || payload.case === 'compaction'
}

/** The blobs that an item refers to. */
export function blobsOfItem({ payload }: InboxItem): readonly BlobRef[] {
  return payload.case === 'prompt' ? payload.value.files.flatMap(blobIn) : []
}

/** What a client admits. */
export interface Admission<P extends Payload = Payload> {
  readonly id: string
  readonly payload: P
  readonly delivery: Delivery
  /** Digest of the request as the client sent it; a second admission of the id must have the same. */
  readonly digest: string
  readonly admitter: Admitter
  /** Wakes the session: it becomes due. */
  readonly wake: boolean
}

/** An item of an inbox with what clients do not see, and what became of it. */
export interface InboxEntry {
  /** Order of admission. */
  readonly seq: number
  readonly item: InboxItem
  readonly state: 'waiting' | 'delivered' | 'cancelled'
  readonly digest: string
  readonly admitter: Admitter
}

/** The existing use of an id in the workspace. */
export interface TakenId {
  readonly sessionId: string
  /** The item as it was admitted; undefined: a message that was never an item. */
  readonly input: InboxEntry | undefined
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
  readonly steers: readonly InboxEntry[]
  readonly queued: readonly InboxEntry[]
  /** There are other steers, after these. */
  readonly more: boolean
}

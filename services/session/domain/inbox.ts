import type { Prompt } from './message.ts'

/** When an admitted input enters the conversation: at the next step boundary, or when the session is idle. */
export type Delivery = 'steer' | 'queue'

/** On whose behalf something was admitted; inference checks the key again when it spends. */
export interface Admitter {
  readonly organizationId: string
  readonly workspaceId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  readonly kind: 'workspace' | 'personal' | 'management' | 'local-operator'
}

/** What was admitted and has its turn in the conversation; each type says what it holds. */
export type InboxItem = PromptItem

/** What a user said. */
export interface PromptItem {
  readonly type: 'prompt'
  /** Also the id of the user message that it becomes. */
  readonly id: string
  readonly sessionId: string
  readonly prompt: Prompt
  readonly delivery: Delivery
  readonly timeCreated: number
}

/** An input that a client hands in. */
export interface Admission {
  readonly id: string
  readonly prompt: Prompt
  readonly delivery: Delivery
  /** Digest of the request as the client sent it; a second admission of the id must have the same. */
  readonly digest: string
  readonly admitter: Admitter
  /** Wakes the session: it becomes due. */
  readonly wake: boolean
}

/** What an id of the workspace names already. */
export interface TakenId {
  readonly sessionId: string
  /** The input as it was admitted, whether it still waits or is a message by now; undefined: a message that was none. */
  readonly input: { readonly item: InboxItem; readonly digest: string } | undefined
}

/** An inbox item with what clients do not see. */
export interface WaitingInput {
  readonly seq: number
  readonly item: InboxItem
  readonly admitter: Admitter
}

/** What waits in an inbox, in order of admission: every steer, and the first two queued items. */
export interface WaitingInputs {
  readonly steers: readonly WaitingInput[]
  readonly queued: readonly WaitingInput[]
}

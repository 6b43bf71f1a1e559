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

/** An admitted input that waits for its turn. */
export interface InboxItem {
  /** Also the id of the user message that it becomes. */
  readonly id: string
  readonly sessionId: string
  readonly prompt: Prompt
  readonly delivery: Delivery
  readonly timeCreated: number
}

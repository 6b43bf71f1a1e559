/** What a permission rule does. */
export type Effect = 'allow' | 'deny' | 'ask'

/** One rule; `*` matches any run of characters, `?` one. The last rule that matches wins. */
export interface PermissionRule {
  readonly action: string
  readonly resource: string
  readonly effect: Effect
}

/** The reply to a permission request. */
export type PermissionReply = 'once' | 'always' | 'reject'

/** A permission request. Times are milliseconds since the epoch. */
export interface PermissionRequest {
  readonly id: string
  readonly sessionId: string
  readonly action: string
  readonly resources: readonly string[]
  /** Patterns that an `always` answer saves for the project. */
  readonly savePatterns: readonly string[]
  readonly messageId: string
  readonly callId: string
  /** Of the lease under which permission was requested. Undefined for what earlier versions stored. */
  readonly fence?: number
  readonly timeCreated: number
  readonly timeExpires: number
}

/** The answer to a request; the model is shown `message`, and a rejection without one ends the run. */
export interface PermissionAnswer {
  readonly reply: PermissionReply
  readonly message: string
}

/** A request and its answer. */
export interface KnownRequest {
  readonly request: PermissionRequest
  /** Undefined while nobody answered it. */
  readonly answer: PermissionAnswer | undefined
}

/** A pattern that an `always` answer allowed in a project for good. */
export interface SavedApproval {
  readonly id: string
  readonly projectId: string
  readonly action: string
  readonly pattern: string
}

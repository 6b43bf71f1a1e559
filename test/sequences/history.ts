import { join } from 'node:path'
import type { WireMessage } from '#test/support/instance-client.ts'
import { type Asked, mayBeDone } from './asked.ts'
import type { WireEvent } from './follow.ts'
import type { Answer, Delivery, Work } from './step.ts'

/** An input, of a user or of a program, as the client knows it. */
export interface SentInput {
  readonly kind: 'user' | 'synthetic'
  /** Undefined: the server generated one, and its answer was lost. */
  id: string | undefined
  readonly text: string
  readonly work: Work
  readonly delivery: Delivery
  readonly asked: Asked
  accepted: boolean
  /** A client tried to cancel it: it may never run. */
  cancelled: boolean
  /** A client tried to make it wait for an idle session. */
  queued: boolean
}

/** A reply to a permission request. */
export interface SentReply {
  readonly asked: Asked
  readonly answer: Answer
  readonly requestId: string
  readonly messageId: string
  readonly callId: string
  /** What `always` allows. */
  readonly saves: readonly string[]
}

/** A change of the session's description: its new values, each of which is unique. */
export interface SentUpdate {
  readonly asked: Asked
  readonly title?: string
  readonly metadata?: unknown
  readonly permissions?: readonly Rule[]
}

export interface Rule {
  readonly action: string
  readonly resource: string
  readonly effect: string
}

/** What the server returned of the session at a time. */
export interface Copy {
  readonly kind: 'fork' | 'export'
  readonly asked: Asked
  readonly info: Info
  readonly messages: readonly WireMessage[]
  /** Where it was to end. */
  readonly before?: string | undefined
}

/** A session as the server shows it. */
export interface Info {
  readonly id: string
  readonly parentID?: string
  readonly fork?: {
    readonly sessionID: string
    readonly boundary: { readonly type: string; readonly messageID: string }
  }
  readonly cost: number
  readonly tokens: Tokens
  readonly location: { readonly directory: string }
  readonly time: {
    readonly created: number
    readonly updated?: number
    readonly idle?: number
    readonly viewed?: number
  }
  readonly [member: string]: unknown
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cache: { readonly read: number; readonly write: number }
}

/** What the inbox contained at a time, in its order. */
export interface SeenInbox {
  readonly asked: Asked
  readonly ids: readonly string[]
}

/** What the log contained at a time. */
export interface SeenLog {
  readonly asked: Asked
  readonly after: number
  readonly events: readonly WireEvent[]
}

/** Everything that one client did in its session, and the answers that it got. */
export interface History {
  readonly sessionId: string
  /** File that the tools of the session write to, a line for each call that was run. */
  readonly calls: string
  readonly inputs: SentInput[]
  /** Every request that wakes the session, the inputs' own included. */
  readonly wakes: Asked[]
  readonly interrupts: Asked[]
  /** Those of them that let steers go on. */
  readonly goOns: Asked[]
  readonly resumes: Asked[]
  readonly moves: { readonly asked: Asked; readonly directory: string }[]
  readonly cancels: { readonly asked: Asked; readonly id: string }[]
  /** Inputs that were sent again. */
  readonly repeats: { readonly asked: Asked; readonly id: string }[]
  readonly replies: SentReply[]
  /** Approvals that were withdrawn, each once it was seen. */
  readonly forgotten: { readonly asked: Asked; readonly resource: string }[]
  readonly waits: Asked[]
  readonly reloads: Asked[]
  /** Requested summaries; undefined: unknown under which id. */
  readonly compactions: { readonly asked: Asked; id: string | undefined }[]
  readonly updates: SentUpdate[]
  readonly copies: Copy[]
  /** Forks that were refused because there was no history. */
  readonly emptyForks: Asked[]
  readonly inboxes: SeenInbox[]
  readonly logs: SeenLog[]
  removal: Asked | undefined
  /** The session was woken after all that ended runs, and it was idle before anything else was sent. */
  woken: boolean
  /** Problems found at once. */
  readonly problems: string[]
}

export function newHistory(sessionId: string, scratch: string, problems: string[] = []): History {
  return {
    sessionId,
    calls: join(scratch, `${sessionId}.calls`),
    problems,
    woken: false,
    removal: undefined,

    inputs: [],
    wakes: [],
    interrupts: [],
    goOns: [],
    resumes: [],
    moves: [],
    cancels: [],
    replies: [],

    repeats: [],
    forgotten: [],
    waits: [],
    reloads: [],
    compactions: [],
    updates: [],
    copies: [],
    emptyForks: [],
    inboxes: [],
    logs: [],
  }
}

/** What may end a run as interrupted, and park what waits: interrupts, and refusals without a message. */
export function stoppers({ interrupts, replies }: Pick<History, 'interrupts' | 'replies'>): Asked[] {
  const refusals = replies.filter(({ answer }) => answer === 'reject')
  return [...interrupts, ...refusals.map(({ asked }) => asked)].filter(mayBeDone)
}

/** The values that something had while a request was answered: the one before, and each event that changed it. */
export function valuesDuring<T>(
  events: readonly WireEvent[],
  asked: Asked,
  clockMs: number,
  first: T,
  pick: (event: WireEvent) => T | undefined,
): T[] {
  let values = [first]
  for (const event of events) {
    const value = pick(event)
    if (value === undefined || event.created > asked.answered + clockMs) continue
    values = event.created + clockMs < asked.sent ? [value] : [...values, value]
  }
  return values
}

import type { WireMessage } from '#test/support/instance-client.ts'
import type { WireEvent } from '../follow.ts'
import type { History, Info } from '../history.ts'

/** What is known of a session when everything is over. */
export interface Evidence {
  readonly history: History
  readonly info: Info
  readonly messages: readonly WireMessage[]
  /** Its messages, as they are listed by type. */
  readonly typed: ReadonlyMap<string, readonly WireMessage[]>
  /** All of its log, and the part of it that a constant listener received. */
  readonly events: readonly WireEvent[]
  readonly seen: readonly WireEvent[]
  /** What its answers allow for good. */
  readonly approvals: readonly string[]
  /** What its tools wrote, by line. */
  readonly lines: readonly string[]
  /** Where it began, and with which rules. */
  readonly home: string
  readonly first: unknown
  /** Whether a run may have been taken over from an owner that could no longer write. */
  readonly takenOver: boolean
  /** How long, in milliseconds, something may stay invisible after the time that it is written with. */
  readonly clockMs: number
}

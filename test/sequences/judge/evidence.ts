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
  /** All of its log, and what of it came to who listened all the time. */
  readonly events: readonly WireEvent[]
  readonly seen: readonly WireEvent[]
  /** What is allowed for good by its answers. */
  readonly approvals: readonly string[]
  /** What its tools wrote, by line. */
  readonly lines: readonly string[]
  /** Where it began, and by what rules. */
  readonly home: string
  readonly first: unknown
  /** Whether a run may have been taken over from an owner that could not write any more. */
  readonly takenOver: boolean
  /** For so long, in milliseconds, what is written at a time may not be there yet. */
  readonly clockMs: number
}

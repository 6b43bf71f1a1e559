import { create } from '@bufbuild/protobuf'
import { SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { AssistantMessage, Message } from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { type ChangeKind, changesBy } from './change.ts'
import type { DurableInit, PartPlace } from './event.ts'
import type { MessageOf } from './message.ts'
import { addCost, addTokens, MOST_COST_NANOS, MOST_TOKENS } from './session.ts'
import { nextClaim, type SessionState } from './session-state.ts'
import { activityOf } from './stats/activity.ts'
import type { Write } from './write.ts'

/** Makes ids of events and of messages that no client named. */
export type NewId = (prefix: 'evt' | 'msg') => string

export type StateChanges = { -readonly [K in keyof SessionState]?: SessionState[K] }

/**
 * The changes of one use case in one session: rules fill it in, and a store writes it in one transaction. Nothing is
 * written if a rule throws.
 */
export class Revision {
  /** The time of what is written. */
  readonly now: number
  /** The same moment on the clock that leases are measured by. */
  readonly leaseNow: number
  readonly writes: Write[] = []
  readonly changes: StateChanges = {}
  readonly before: SessionState
  readonly #newId: NewId
  #state: SessionState

  constructor(state: SessionState, now: number, leaseNow: number, newId: NewId) {
    this.before = state
    this.#state = state
    this.now = now
    this.leaseNow = leaseNow
    this.#newId = newId
  }

  /** The session with the changes so far. */
  get state(): SessionState {
    return this.#state
  }

  get isEmpty(): boolean {
    return this.writes.length === 0 && Object.keys(this.changes).length === 0
  }

  get changed(): readonly ChangeKind[] {
    return changesBy(this.before, this.#state, this.writes, this.leaseNow)
  }

  set(changes: StateChanges): void {
    Object.assign(this.changes, changes)
    // Of two spreads in one literal, the second takes ten times as long.
    this.#state = Object.assign({ ...this.#state }, changes)
  }

  nextSeq(): number {
    const seq = this.#state.seq + 1
    this.set({ seq })
    return seq
  }

  /** Records activity: the session moves up in the lists. Its time never goes back. */
  touch(): void {
    if (this.now > this.#state.updateTime) this.set({ updateTime: this.now })
  }

  /** Adds what a step used to the session's totals. */
  addUsage(costNanos: bigint, tokens: TokenUsage): void {
    const { costNanos: cost, tokens: total } = this.#state
    this.set({
      costNanos: addCost(cost, costNanos, MOST_COST_NANOS),
      tokens: addTokens(total, tokens, MOST_TOKENS),
    })
  }

  event(what: DurableInit, part?: PartPlace): void {
    const { sessionId, directory } = this.#state
    const place = { eventId: this.#newId('evt'), createTime: this.now, sessionId, directory }
    const event = create(SessionEventSchema, { ...place, event: what })
    this.writes.push({ type: 'event', seq: this.nextSeq(), event, part })
  }

  /** Appends a message to the conversation; returns its place. */
  insert(message: Message): number {
    const seq = this.nextSeq()
    this.writes.push({ type: 'insert', seq, message })
    return seq
  }

  /** Writes the changes of a step: its own members, and the parts that are new objects. */
  update(before: MessageOf<'assistant'>, message: MessageOf<'assistant'>): void {
    const [old, step] = [before.kind.value, message.kind.value]
    const isNew = old.attempt !== step.attempt
    const changed = [...step.parts.keys()].filter((n) => isNew || step.parts[n] !== old.parts[n])
    const names = Object.keys({ ...old, ...step }) as (keyof AssistantMessage)[]
    const own = names.some((name) => name !== 'parts' && step[name] !== old[name])
    if (own || changed.length > 0) this.writes.push({ type: 'update', message, own, changed })
  }

  /** Writes a compaction again. */
  replace(message: MessageOf<'compaction'>): void {
    this.writes.push({ type: 'update', message, own: true, changed: [] })
  }

  /** Adds a message to the statistics, if it counts. */
  count(message: Message): void {
    const activity = activityOf(message)
    if (activity !== undefined) this.writes.push({ type: 'count', seq: this.#state.seq, activity })
  }

  /** The id and time of a message that no client named. */
  newMessage(): Pick<Message, 'messageId' | 'createTime'> {
    return { messageId: this.#newId('msg'), createTime: this.now }
  }

  /** Updates derived members; to be called last, before writing. */
  finish(): void {
    const claimableAt = nextClaim(this.#state, this.leaseNow)
    if (claimableAt !== this.#state.claimableAt) this.set({ claimableAt })
  }
}

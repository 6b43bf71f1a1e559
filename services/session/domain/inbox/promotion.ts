import { Delivery, type InboxItem } from '#gen/portico/session/v1/session_pb.js'
import type { CompactionStart } from '../compaction/compaction.ts'
import { type InboxEntry, isControl, type WaitingInputs } from '../inbox.ts'
import { messageOf, type StoredMessage } from '../message.ts'
import type { Revision } from '../revision.ts'
import { switchLocation } from './move-session.ts'

export interface Promotion {
  readonly messages: readonly StoredMessage[]
  /** A control item was promoted alone; the boundary remains. */
  readonly control: boolean
  /** The promoted compaction, which is about to begin; undefined: none was promoted. */
  readonly compaction?: CompactionStart & { readonly id: string }
  /** More items enter at this boundary, which remains. */
  readonly more: boolean
}

const NOTHING: Promotion = { messages: [], control: false, more: false }

/**
 * Makes messages of inbox items, each with its events, in order of admission: of every steer; where none waits, at an
 * `idle` boundary of the oldest queued item. A control item splits that: what was admitted before it comes first, then
 * it comes alone; a steered compaction comes before the inputs that are ahead of it, but never before a move. Begins
 * the run when inputs were promoted and none has begun; a due session stays due only when items are left. Nothing is
 * promoted into a run that is to be interrupted, nor when nothing is due and no run has begun: an interrupt came first.
 * Of many steers those come first that were read, so that no write takes long.
 */
export function promoteItems(revision: Revision, waiting: WaitingInputs, boundary: 'step' | 'idle'): Promotion {
  const { due, wake, running, interruptRequested } = revision.state
  if (interruptRequested || (!due && !running)) return NOTHING
  const candidates = mayEnter(waiting, due && wake?.steersOnly === true)
  const entering = nextItems(candidates, boundary)
  if (due && entering.length === candidates.length && !waiting.more) revision.set({ due: false })
  const last = entering.at(-1)
  if (last === undefined) return NOTHING
  const control = isControl(last.item)
  if (last.item.payload.case === 'compaction') return promoteCompaction(revision, last)
  if (!control) beginRun(revision)
  const messages = entering.flatMap(({ item }) => deliver(revision, item))
  if (!control) revision.set({ lastAdmitter: last.admitter })
  return { messages, control, more: waiting.more && last === candidates.at(-1) }
}

/** A compaction is for the account of the run that it is part of, and of whoever requested it where it begins one. */
function promoteCompaction(revision: Revision, { item, admitter }: InboxEntry): Promotion {
  const alone = !revision.state.running
  beginRun(revision)
  deliver(revision, item)
  if (alone) revision.set({ lastAdmitter: admitter })
  return { ...NOTHING, control: true, compaction: { id: item.messageId, alone } }
}

/** Begins a run, where none has begun. */
export function beginRun(revision: Revision): void {
  if (revision.state.running) return
  revision.set({ running: true })
  revision.event({ case: 'executionStarted', value: {} })
}

/**
 * What has its turn in an inbox, in order of admission; with `steersOnly` no queued item but the control items that are
 * next.
 */
export function mayEnter(waiting: WaitingInputs, steersOnly: boolean): readonly InboxEntry[] {
  const { steers, more } = waiting
  const next = more ? (steers.at(-1)?.seq ?? 0) : Number.POSITIVE_INFINITY
  const queued = waiting.queued.filter(({ seq }) => seq < next)
  const input = steersOnly ? queued.findIndex(({ item }) => !isControl(item)) : -1
  return [...steers, ...(input < 0 ? queued : queued.slice(0, input))].sort((a, b) => a.seq - b.seq)
}

/**
 * The steers that a boundary lets in together, the queued input that has its turn, or the control item that is next.
 */
function nextItems(candidates: readonly InboxEntry[], boundary: 'step' | 'idle'): readonly InboxEntry[] {
  const oldest = boundary === 'idle' ? candidates.find(({ item }) => item.delivery === Delivery.QUEUE) : undefined
  const items = candidates.filter((each) => each.item.delivery === Delivery.STEER || each === oldest)
  const move = items.findIndex(({ item }) => item.payload.case === 'move')
  const compaction = (move < 0 ? items : items.slice(0, move)).find(
    ({ item: { payload, delivery } }) => payload.case === 'compaction' && delivery === Delivery.STEER,
  )
  if (compaction !== undefined) return [compaction]
  const control = items.findIndex(({ item }) => isControl(item))
  if (control === 0) return items.slice(0, 1)
  const inputs = control < 0 ? items : items.slice(0, control)
  const steers = inputs.filter((each) => each !== oldest)
  return steers.length > 0 ? steers : inputs
}

function deliver(revision: Revision, item: InboxItem): StoredMessage[] {
  const { messageId: id, payload } = item
  const head = { messageId: id, createTime: revision.now }
  revision.writes.push({ type: 'deliver', id, timeDelivered: revision.now })
  switch (payload.case) {
    case 'prompt': {
      const message = messageOf(head, 'user', payload.value)
      const seq = revision.insert(message)
      revision.count(message)
      revision.event({ case: 'inboxDelivered', value: { messageId: id } })
      return [{ seq, message }]
    }
    case 'synthetic': {
      const { value: synthetic } = payload
      const message = messageOf(head, 'synthetic', synthetic)
      const seq = revision.insert(message)
      revision.event({ case: 'inboxDelivered', value: { messageId: id } })
      revision.event({ case: 'syntheticAdded', value: { messageId: id, synthetic } })
      return [{ seq, message }]
    }
    case 'move':
      revision.event({ case: 'inboxDelivered', value: { messageId: id } })
      return [switchLocation(revision, id, payload.value)]
    default:
      // The message of a compaction comes with what it is made of.
      revision.event({ case: 'inboxDelivered', value: { messageId: id } })
      return []
  }
}

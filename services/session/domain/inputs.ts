import type { Admitter, InboxItem } from './inbox.ts'
import type { UserMessage } from './message.ts'
import type { Revision } from './revision.ts'

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

/** What was promoted: the new messages with their places, and who admitted the last of them. */
export interface Promoted {
  readonly messages: readonly { readonly seq: number; readonly message: UserMessage }[]
  readonly admitter: Admitter | undefined
}

/** Puts an input into the inbox. */
export function admitInput(revision: Revision, input: Omit<WaitingInput, 'seq'>, digest: string): void {
  const { item, admitter } = input
  revision.writes.push({ type: 'admit', seq: revision.nextSeq(), item, digest, admitter })
  revision.event({ type: 'inbox-enqueued', item })
  revision.touch()
}

/**
 * Promotes what a boundary lets in, in order of admission, and begins the run when there is none. Nothing is promoted
 * into a run that is to be interrupted, nor when nothing is due and no run is begun: an interrupt came first.
 */
export function promoteInputs(revision: Revision, waiting: WaitingInputs, boundary: 'step' | 'idle'): Promoted {
  const { due, running, interruptRequested } = revision.state
  if (interruptRequested || (!due && !running)) return { messages: [], admitter: undefined }
  const queued = waiting.queued.slice(0, boundary === 'idle' ? 1 : 0)
  const inputs = [...waiting.steers, ...queued].sort((a, b) => a.seq - b.seq)
  const last = inputs.at(-1)
  if (last !== undefined && !running) {
    revision.set({ running: true })
    revision.event({ type: 'execution-started' })
  }
  const messages = inputs.map(({ item }) => {
    const message: UserMessage = { type: 'user', id: item.id, timeCreated: revision.now, prompt: item.prompt }
    const seq = revision.nextSeq()
    revision.writes.push({ type: 'deliver', id: item.id, seq, timeDelivered: revision.now })
    revision.event({ type: 'inbox-delivered', messageId: item.id })
    return { seq, message }
  })
  if (due && waiting.queued.length === queued.length) revision.set({ due: false })
  if (last !== undefined) revision.set({ lastAdmitter: last.admitter })
  return { messages, admitter: last?.admitter }
}

import type { Admission, InboxItem, TakenId, WaitingInputs } from './inbox.ts'
import type { StoredMessage, UserMessage } from './message.ts'
import type { Revision } from './revision.ts'

/**
 * Puts an input into the inbox, and with `wake` makes the session due. The same id again with the same digest returns the
 * first item, and with `wake` makes the session due all the same: an interrupt may have parked other inputs. Undefined: the
 * id has another digest, belongs to another session, or names another message.
 */
export function admitPrompt(
  revision: Revision,
  taken: TakenId | undefined,
  { id, prompt, delivery, digest, admitter, wake }: Admission,
): InboxItem | undefined {
  const sessionId = revision.state.id
  if (taken !== undefined && (taken.sessionId !== sessionId || taken.input?.digest !== digest)) return undefined
  if (wake && !revision.state.due) revision.set({ due: true })
  if (taken?.input !== undefined) return taken.input.item
  const item = { type: 'prompt', id, sessionId, prompt, delivery, timeCreated: revision.now } as const
  revision.writes.push({ type: 'admit', seq: revision.nextSeq(), item, digest, admitter })
  revision.event({ type: 'inbox-enqueued', item })
  revision.touch()
  return item
}

/**
 * Turns inbox items into user messages, each with its event: at a `step` boundary every steer in order of admission; at an
 * `idle` boundary the oldest queued item too, all in order of admission. Begins the run when something was promoted and none
 * has begun; a due session stays due only when items are left. Nothing is promoted into a run that is to be interrupted, nor
 * when nothing is due and no run has begun: an interrupt came first.
 */
export function promoteInputs(
  revision: Revision,
  waiting: WaitingInputs,
  boundary: 'step' | 'idle',
): readonly StoredMessage[] {
  const { due, running, interruptRequested } = revision.state
  if (interruptRequested || (!due && !running)) return []
  const queued = waiting.queued.slice(0, boundary === 'idle' ? 1 : 0)
  const inputs = [...waiting.steers, ...queued].sort((a, b) => a.seq - b.seq)
  const last = inputs.at(-1)
  if (last !== undefined && !running) {
    revision.set({ running: true })
    revision.event({ type: 'execution-started' })
  }
  const messages = inputs.map(({ item }) => {
    const message: UserMessage = { type: 'user', id: item.id, timeCreated: revision.now, prompt: item.prompt }
    revision.writes.push({ type: 'deliver', id: item.id, timeDelivered: revision.now })
    const seq = revision.insert(message)
    revision.event({ type: 'inbox-delivered', messageId: item.id })
    return { seq, message }
  })
  if (due && waiting.queued.length === queued.length) revision.set({ due: false })
  if (last !== undefined) revision.set({ lastAdmitter: last.admitter })
  return messages
}

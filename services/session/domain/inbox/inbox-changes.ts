import type { Delivery, WaitingInput } from '../inbox.ts'
import type { Revision } from '../revision.ts'
import { wake } from './wake.ts'

/**
 * Changes when an item that waits enters the conversation; `steer` makes the session due. False: it does not wait, or has this
 * delivery already.
 */
export function changeDelivery(revision: Revision, waiting: WaitingInput | undefined, delivery: Delivery): boolean {
  if (waiting === undefined || waiting.item.delivery === delivery) return false
  const { id } = waiting.item
  revision.writes.push({ type: 'redeliver', id, delivery })
  revision.event({ type: 'inbox-delivery-changed', messageId: id, delivery })
  if (delivery === 'steer') wake(revision)
  revision.touch()
  return true
}

/** Takes an item out of the inbox, so that it never enters the conversation. One that does not wait is left alone. */
export function cancelItem(revision: Revision, waiting: WaitingInput | undefined): void {
  if (waiting === undefined) return
  const { id } = waiting.item
  revision.writes.push({ type: 'cancel', id, timeCancelled: revision.now })
  revision.event({ type: 'inbox-cancelled', messageId: id })
  revision.touch()
}

import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import type { InboxEntry } from '../inbox.ts'
import type { Revision } from '../revision.ts'
import { wake } from './wake.ts'

/**
 * Why the delivery of an item is not changed: there is no such item, it no longer waits, or it has that delivery
 * already.
 */
export type Unchanged = 'unknown' | 'delivered' | 'cancelled' | 'same'

/**
 * Changes when an item that waits enters the conversation; `steer` makes the session due. Undefined: it was changed.
 */
export function changeDelivery(
  revision: Revision,
  entry: InboxEntry | undefined,
  delivery: Delivery,
): Unchanged | undefined {
  if (entry === undefined) return 'unknown'
  const { item, state } = entry
  if (state !== 'waiting') return state
  if (item.delivery === delivery) return 'same'
  revision.writes.push({ type: 'redeliver', id: item.messageId, delivery })
  revision.event({ case: 'inboxDeliveryChanged', value: { messageId: item.messageId, delivery } })
  if (delivery === Delivery.STEER) wake(revision)
  revision.touch()
  return undefined
}

/** Takes an item out of the inbox, so that it never enters the conversation. One that does not wait is left alone. */
export function cancelItem(revision: Revision, entry: InboxEntry | undefined): void {
  if (entry?.state !== 'waiting') return
  const { messageId: id } = entry.item
  revision.writes.push({ type: 'cancel', id, timeCancelled: revision.now })
  revision.event({ case: 'inboxCancelled', value: { messageId: id } })
  revision.touch()
}

import { z } from 'zod'
import type { InboxItem, Prompt } from '#gen/portico/session/v1/session_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromSessionLocation, sessionLocation } from './location.ts'
import {
  delivery,
  enqueuedPrompt,
  fromDelivery,
  fromEnqueuedPrompt,
  fromPrompt,
  fromSynthetic,
  prompt,
  synthetic,
} from './prompt.ts'
import { time } from './time.ts'

const user = { type: z.literal('user'), payload: z.strictObject(prompt), delivery }
const syntheticText = { type: z.literal('synthetic'), payload: z.strictObject(synthetic), delivery }
const move = { type: z.literal('move'), payload: z.strictObject(sessionLocation), delivery }
const compaction = { type: z.literal('compaction'), payload: z.strictObject({}), delivery }
const admitted = { id: z.string(), sessionID: z.string(), time: z.strictObject({ created: time }) }

export const inboxUser = z.strictObject({ ...admitted, ...user }).meta({ id: 'Session.Inbox.User' })

export const inboxSynthetic = z.strictObject({ ...admitted, ...syntheticText }).meta({ id: 'Session.Inbox.Synthetic' })

const inboxMove = z.strictObject({ ...admitted, ...move }).meta({ id: 'Session.Inbox.Move' })

export const inboxCompaction = z.strictObject({ ...admitted, ...compaction }).meta({ id: 'Session.Inbox.Compaction' })

/** Whatever waits in an inbox. */
export const inboxItem = z
  .discriminatedUnion('type', [inboxUser, inboxSynthetic, inboxMove, inboxCompaction])
  .meta({ id: 'Session.Inbox.Info' })

/** The same, as the event of its admission has it. */
export const enqueuedItem = z.discriminatedUnion('type', [
  z.strictObject({ ...user, payload: z.strictObject(enqueuedPrompt) }),
  z.strictObject(syntheticText),
  z.strictObject(move),
  z.strictObject(compaction),
])

type InboxItemJson = JsonOf<typeof inboxItem>

export function fromInboxItem(item: InboxItem | undefined): InboxItemJson {
  if (item === undefined) throw new Error('The session service returned no item')
  return {
    id: item.messageId,
    sessionID: item.sessionId,
    time: { created: item.createTime },
    ...fromContent(item, fromPrompt),
  }
}

/** An item that the service returns where it can only be of one type. */
export function fromInboxItemOf<T extends InboxItemJson['type']>(type: T, item: InboxItem | undefined) {
  const json = fromInboxItem(item)
  if (json.type !== type) throw new Error('The session service returned another kind of item')
  return json as Extract<InboxItemJson, { readonly type: T }>
}

export function fromEnqueuedItem(item: InboxItem): JsonOf<typeof enqueuedItem> {
  return fromContent(item, fromEnqueuedPrompt)
}

function fromContent<P>({ messageId, payload, delivery }: InboxItem, fromUser: (prompt: Prompt) => P) {
  const when = fromDelivery(delivery)
  switch (payload.case) {
    case 'prompt':
      return { type: 'user' as const, payload: fromUser(payload.value), delivery: when }
    case 'synthetic':
      return { type: 'synthetic' as const, payload: fromSynthetic(payload.value), delivery: when }
    case 'move':
      return { type: 'move' as const, payload: fromSessionLocation(payload.value), delivery: when }
    case 'compaction':
      return { type: 'compaction' as const, payload: {}, delivery: when }
    case undefined:
      throw new Error(`Inbox item ${messageId} has a type that this version does not know`)
  }
}

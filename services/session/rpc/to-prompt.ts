import {
  Delivery as DeliveryMessage,
  type FileAttachment as FileMessage,
  type InboxItem as InboxItemMessage,
  type Mention as MentionMessage,
  type Prompt as PromptMessage,
} from '#gen/portico/session/v1/session_pb.js'
import type { InboxItem } from '../domain/inbox.ts'
import type { FileAttachment, Mention, Prompt } from '../domain/message.ts'
import type { LoadedBlobs } from './load-blobs.ts'
import { toTimestamp } from './to-session.ts'

const NO_DATA = new Uint8Array()

const DELIVERIES = { steer: DeliveryMessage.STEER, queue: DeliveryMessage.QUEUE } as const

/** An admitted input as a message; without blobs its files are left out. */
export function toInboxItem(item: InboxItem, blobs: LoadedBlobs | undefined): InboxItemMessage {
  return {
    $typeName: 'portico.session.v1.InboxItem',
    messageId: item.id,
    sessionId: item.sessionId,
    createTime: toTimestamp(item.timeCreated),
    prompt: toPrompt(item.prompt, blobs),
    delivery: DELIVERIES[item.delivery],
  }
}

/** What a user said as a message; without blobs its files are left out. */
export function toPrompt(prompt: Prompt, blobs: LoadedBlobs | undefined): PromptMessage {
  return {
    $typeName: 'portico.session.v1.Prompt',
    text: prompt.text,
    files: blobs === undefined ? [] : prompt.files.map((file) => toFile(file, blobs)),
    agents: prompt.agents.map(({ name, mention }) => ({
      $typeName: 'portico.session.v1.AgentAttachment',
      name,
      mention: mention && toMention(mention),
    })),
    metadata: prompt.metadata,
  }
}

function toFile(file: FileAttachment, blobs: LoadedBlobs): FileMessage {
  const { blob, mime, uri = '', name, description, mention } = file
  const data = (blobs.get(blob.hash) ?? NO_DATA) as Uint8Array<ArrayBuffer>
  const shown = { data, mime, uri, name, description, mention: mention && toMention(mention) }
  return { $typeName: 'portico.session.v1.FileAttachment', ...shown }
}

function toMention({ start, end, text }: Mention): MentionMessage {
  return { $typeName: 'portico.session.v1.Mention', start, end, text }
}

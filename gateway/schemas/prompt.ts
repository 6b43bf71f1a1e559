import type { AgentAttachment, FileAttachment, InboxItem, Mention, Prompt } from '#gen/portico/session/v1/session_pb.js'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { milliseconds } from './common.ts'

/** `Session.Inbox.User` (`contract/instance-facts.md` 1.8). */
export function inboxUser(item: InboxItem) {
  return {
    id: item.messageId,
    sessionID: item.sessionId,
    time: { created: milliseconds(item.createTime) },
    type: 'user',
    payload: promptJson(item.prompt),
    delivery: deliveryName(item.delivery),
  }
}

/** The public name of a delivery. */
export function deliveryName(delivery: Delivery): 'steer' | 'queue' {
  return delivery === Delivery.QUEUE ? 'queue' : 'steer'
}

/** What a user said: `text`, and whatever came with it. */
export function promptJson(prompt: Prompt | undefined) {
  return {
    text: prompt?.text ?? '',
    files: listOrAbsent(prompt?.files, fileJson),
    agents: listOrAbsent(prompt?.agents, agentJson),
    metadata: prompt?.metadata,
  }
}

function fileJson(file: FileAttachment) {
  return {
    data: Buffer.from(file.data.buffer, file.data.byteOffset, file.data.byteLength).toString('base64'),
    mime: file.mime,
    source: file.uri === '' ? { type: 'inline' } : { type: 'uri', uri: file.uri },
    name: file.name,
    description: file.description,
    mention: mentionJson(file.mention),
  }
}

function agentJson(agent: AgentAttachment) {
  return { name: agent.name, mention: mentionJson(agent.mention) }
}

function mentionJson(mention: Mention | undefined) {
  return mention === undefined ? undefined : { start: mention.start, end: mention.end, text: mention.text }
}

function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}

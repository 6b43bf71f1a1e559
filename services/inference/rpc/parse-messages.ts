import {
  type MediaPart as MediaMessage,
  Message_Role,
  type Message as MessageMessage,
  type Part as PartMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import type { MediaSource, Message, Part } from '../domain/conversation.ts'

const MAX_MESSAGES = 20_000
const MAX_DATA_BYTES = 20 * 1024 * 1024

const roles = enumTable<Message['role'], Message_Role>({
  system: Message_Role.SYSTEM,
  user: Message_Role.USER,
  assistant: Message_Role.ASSISTANT,
  tool: Message_Role.TOOL,
})

/** The conversation; rejects with REQUEST_INVALID. */
export function parseMessages(messages: readonly MessageMessage[]): Message[] {
  check(messages.length > 0, 'messages', 'must not be empty')
  check(messages.length <= MAX_MESSAGES, 'messages', `must have at most ${MAX_MESSAGES} items`)
  return messages.map((message, i) => {
    const role = roles.fromProto(message.role)
    check(role !== undefined, `messages[${i}].role`, 'is not known')
    return { role, parts: message.parts.map((part, j) => parsePart(part, `messages[${i}].parts[${j}]`)) }
  })
}

function parsePart({ part, cacheControl }: PartMessage, field: string): Part {
  const cache = cacheControl === undefined ? {} : { cache: { ttl: cacheControl.ttl } }
  switch (part.case) {
    case 'text':
    case 'refusal':
      return { type: part.case, text: part.value.text, ...cache }
    case 'image':
    case 'file':
    case 'audio': {
      const { mime, name, detail } = part.value
      return { type: part.case, source: parseSource(part.value, field), mime, name, detail, ...cache }
    }
    case 'reasoning': {
      const { text, summary, signature, encrypted, id } = part.value
      return { type: 'reasoning', text, summary, signature, encrypted, id, ...cache }
    }
    case 'toolCall': {
      const { callId, name } = part.value
      return { type: 'tool-call', callId, name, arguments: part.value.arguments, ...cache }
    }
    case 'toolResult': {
      const content = part.value.content.map((inner, i) => parsePart(inner, `${field}.content[${i}]`))
      const nested = content.some(({ type }) => type === 'tool-result' || type === 'tool-call')
      check(!nested, field, 'must hold text, images and files')
      return { type: 'tool-result', callId: part.value.callId, content, failed: part.value.failed, ...cache }
    }
    default:
      throw invalid(field, 'is not known')
  }
}

function parseSource({ source }: MediaMessage, field: string): MediaSource {
  if (source.case === 'url') return { url: source.value }
  check(source.case === 'data', field, 'needs data or an address')
  check(source.value.byteLength <= MAX_DATA_BYTES, field, 'must be at most 20 MiB')
  return { data: source.value }
}

import {
  type CacheControl as CacheMessage,
  type MediaPart as MediaMessage,
  MediaPartSchema,
  Message_Role,
  type Message as MessageMessage,
  MessageSchema,
  type Part as PartMessage,
  type Source as SourceMessage,
  TextPartSchema,
  ToolResultPartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import type { CacheControl, Citation, MediaSource, Message, Part } from '../domain/conversation.ts'

const checkMessage = checkLimits(MessageSchema)
const checkMedia = checkLimits(MediaPartSchema)
const checkText = checkLimits(TextPartSchema)
const checkToolResult = checkLimits(ToolResultPartSchema)

const roles = enumTable<Message['role'], Message_Role>({
  system: Message_Role.SYSTEM,
  user: Message_Role.USER,
  assistant: Message_Role.ASSISTANT,
  tool: Message_Role.TOOL,
})

/** Parses the conversation; the number of its messages was checked with the request. Rejects with REQUEST_INVALID. */
export function parseMessages(messages: readonly MessageMessage[]): Message[] {
  return messages.map((message, i) => {
    checkMessage(message, `messages[${i}]`)
    const role = roles.fromProto(message.role)
    check(role !== undefined, `messages[${i}].role`, 'is not known')
    const parts = message.parts.map((part, j) => parsePart(part, `messages[${i}].parts[${j}]`))
    const { providerMetadata } = message
    return { role, parts, ...(providerMetadata === undefined ? {} : { providerMetadata }) }
  })
}

export function parseCache({ ttl, hint }: CacheMessage): CacheControl {
  return { ttl, ...(hint ? { hint } : {}) }
}

function parsePart({ part, cacheControl, providerMetadata }: PartMessage, field: string): Part {
  const besides = {
    ...(cacheControl === undefined ? {} : { cache: parseCache(cacheControl) }),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  }
  switch (part.case) {
    case 'text':
    case 'refusal': {
      const { text, sources, phase } = part.value
      const said = { type: part.case, text, ...(phase === undefined ? {} : { phase }), ...besides }
      if (sources.length === 0) return said
      checkText(part.value, `${field}.${part.case}`)
      return { ...said, sources: sources.map(citationOf) }
    }
    case 'image':
    case 'file':
    case 'audio':
    case 'video': {
      checkMedia(part.value, `${field}.${part.case}`)
      const { mime, name, detail } = part.value
      return { type: part.case, source: parseSource(part.value, field), mime, name, detail, ...besides }
    }
    case 'reasoning': {
      const { text, summary, signature, encrypted, id, format } = part.value
      return { type: 'reasoning', text, summary, signature, encrypted, id, format, ...besides }
    }
    case 'toolCall': {
      const { callId, name, arguments: text, custom, namespace, signature, format } = part.value
      const proof = { signature, format }
      return { type: 'tool-call', callId, name, arguments: text, custom, namespace, ...proof, ...besides }
    }
    case 'toolResult': {
      const at = `${field}.tool_result`
      checkToolResult(part.value, at)
      const { callId, failed, custom } = part.value
      const content = part.value.content.map((inner, i) => parsePart(inner, `${at}.content[${i}]`))
      const nested = content.some(({ type }) => type === 'tool-result' || type === 'tool-call' || type === 'reasoning')
      check(!nested, field, 'must contain text, images and files')
      return { type: 'tool-result', callId, content, failed, custom, ...besides }
    }
    case 'foreign': {
      const { format, item } = part.value
      check(format !== '' && item !== undefined, `${field}.foreign`, 'requires a format and an item')
      return { type: 'foreign', format, item, ...besides }
    }
    default:
      throw invalid(field, 'is not known')
  }
}

function parseSource({ source }: MediaMessage, field: string): MediaSource {
  if (source.case === 'url') return { url: source.value }
  check(source.case === 'data', field, 'requires data or a URL')
  return { data: source.value }
}

function citationOf({ url, title, start, end, citedText, fileId, fileName }: SourceMessage): Citation {
  return { url, title, start, end, citedText, fileId, fileName }
}

import { type Message, type Part, type ToolResultPart, textOf } from '#services/inference/domain/conversation.ts'
import { base64, toUrl } from '../http/data-url.ts'
import type { OpenaiDialect } from './request.ts'

type Item = Record<string, unknown>

/** The conversation as chat completions want it. */
export function openaiMessages(messages: readonly Message[], dialect: OpenaiDialect): Item[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return [assistant(message.parts, dialect)]
    if (message.role === 'tool') return results(message.parts, dialect)
    return [{ role: message.role, content: content(message.parts, dialect) }]
  })
}

function assistant(parts: readonly Part[], dialect: OpenaiDialect): Item {
  const calls = parts.filter((part) => part.type === 'tool-call')
  const refusals = parts.filter((part) => part.type === 'refusal')
  const said = parts.filter((part) => part.type === 'text')
  const details = dialect === 'openrouter' ? parts.flatMap(reasoningDetails) : []
  return {
    role: 'assistant',
    content: said.length === 0 ? null : content(said, dialect),
    ...(refusals.length === 0 ? {} : { refusal: textOf(refusals) }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.callId,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        }),
  }
}

function reasoningDetails(part: Part): Item[] {
  if (part.type !== 'reasoning') return []
  const { text, summary, signature, encrypted, id } = part
  const known = id ? { id } : {}
  if (encrypted) return [{ type: 'reasoning.encrypted', data: encrypted, ...known }]
  if (summary) return [{ type: 'reasoning.summary', summary, ...known }]
  return [{ type: 'reasoning.text', text: text ?? '', ...(signature ? { signature } : {}), ...known }]
}

/** A result is text; pictures and files that it holds follow in a user message, the only one that may carry them. */
function results(parts: readonly Part[], dialect: OpenaiDialect): Item[] {
  const answers = parts.filter((part): part is ToolResultPart => part.type === 'tool-result')
  const items: Item[] = answers.map((part) => ({
    role: 'tool',
    tool_call_id: part.callId,
    content: textOf(part.content),
  }))
  const media = answers.flatMap((part) => {
    const held = part.content.filter(({ type }) => type === 'image' || type === 'file' || type === 'audio')
    if (held.length === 0) return []
    return [{ type: 'text', text: `Call ${part.callId} answered:` }, ...held.map((inner) => piece(inner, dialect))]
  })
  if (media.length > 0) items.push({ role: 'user', content: media })
  return items
}

function content(parts: readonly Part[], dialect: OpenaiDialect): unknown {
  const [first] = parts
  const single = parts.length === 1 && first?.type === 'text' && (first.cache === undefined || dialect === 'openai')
  return single ? first.text : parts.map((part) => piece(part, dialect))
}

function piece(part: Part, dialect: OpenaiDialect): Item {
  const ttl = part.cache?.ttl
  const marker = { type: 'ephemeral', ...(ttl ? { ttl } : {}) }
  const cache = part.cache === undefined || dialect === 'openai' ? {} : { cache_control: marker }
  switch (part.type) {
    case 'image': {
      const detail = part.detail ? { detail: part.detail } : {}
      const url = toUrl(part.source, part.mime || 'image/png')
      return { type: 'image_url', image_url: { url, ...detail }, ...cache }
    }
    case 'file': {
      const name = part.name ? { filename: part.name } : {}
      return { type: 'file', file: { ...name, file_data: toUrl(part.source, part.mime) }, ...cache }
    }
    case 'audio': {
      const data = 'data' in part.source ? base64(part.source.data) : part.source.url
      return {
        type: 'input_audio',
        input_audio: { data, format: /wav/i.test(part.mime ?? '') ? 'wav' : 'mp3' },
        ...cache,
      }
    }
    default:
      return { type: 'text', text: textOf([part]), ...cache }
  }
}

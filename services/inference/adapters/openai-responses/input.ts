import type {
  ForeignPart,
  MediaPart,
  Message,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from '#services/inference/domain/conversation.ts'
import { isForeign } from '#services/inference/domain/left-out.ts'
import type { Omissions } from '#services/inference/domain/omissions.ts'
import { toUrl } from '../http/data-url.ts'
import { OPENAI_FORMAT } from './format.ts'

type Item = Record<string, unknown>

/** A conversation for the Responses API. */
export interface ResponsesInput {
  /** The system text at the beginning; undefined: there is none, or it contains more than text. */
  readonly instructions: string | undefined
  readonly input: readonly Item[]
}

/** What the conversion of a conversation also needs. */
interface Context {
  readonly omissions: Omissions
  /** Whether the model supports cache markers. */
  readonly markable: boolean
}

/** Thoughts and items of other kinds of providers are left out, and so is everything that the API has no part for. */
export function responsesInput(messages: readonly Message[], context: Context): ResponsesInput {
  const instructions = instructionsOf(messages)
  const input: Item[] = []
  for (const { role, parts } of instructions === undefined ? messages : messages.slice(1)) {
    if (role === 'assistant') said(input, parts, context)
    else if (role === 'tool') for (const part of parts) result(input, part, context)
    else userMessage(input, role === 'system' ? 'developer' : 'user', parts, context)
  }
  return { instructions, input }
}

function instructionsOf([first, second]: readonly Message[]): string | undefined {
  const [part, other] = first?.parts ?? []
  const plain = first?.role === 'system' && part?.type === 'text' && part.cache === undefined && other === undefined
  return plain && second !== undefined ? part.text : undefined
}

function userMessage(input: Item[], role: 'developer' | 'user', parts: readonly Part[], context: Context): void {
  const content = contentOf(parts, context)
  if (content.length > 0) input.push({ type: 'message', role, content })
  for (const part of parts) if (part.type === 'foreign') foreign(input, part)
}

/** What the model said, in order: adjacent words of the same phase are one message. */
function said(input: Item[], parts: readonly Part[], context: Context): void {
  let words: Item[] | undefined
  let phase: string | undefined
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') {
      const { text } = part
      if (words === undefined || part.phase !== phase) {
        words = []
        phase = part.phase
        input.push({ type: 'message', role: 'assistant', content: words, ...(phase === undefined ? {} : { phase }) })
      }
      words.push(part.type === 'text' ? { type: 'output_text', text } : { type: 'refusal', refusal: text })
      continue
    }
    words = undefined
    if (part.type === 'tool-call') input.push(call(part))
    else if (part.type === 'reasoning') thought(input, part)
    else if (part.type === 'foreign') foreign(input, part)
    else if (part.type === 'tool-result') result(input, part, context)
    // A picture that the model made can only be sent as the user's.
    else userMessage(input, 'user', [part], context)
  }
}

function call({ callId, name, namespace, custom, arguments: text }: ToolCallPart): Item {
  const group = namespace ? { namespace } : {}
  return custom
    ? { type: 'custom_tool_call', call_id: callId, name, input: text, ...group }
    : { type: 'function_call', call_id: callId, name, arguments: text, ...group }
}

/** Without its encrypted form, a thought means nothing to the API. */
function thought(input: Item[], part: ReasoningPart): void {
  const { id, summary, encrypted } = part
  if (!encrypted || isForeign(part, OPENAI_FORMAT)) return
  input.push({
    type: 'reasoning',
    ...(id ? { id } : {}),
    summary: summary ? [{ type: 'summary_text', text: summary }] : [],
    encrypted_content: encrypted,
  })
}

function foreign(input: Item[], part: ForeignPart): void {
  if (!isForeign(part, OPENAI_FORMAT)) input.push(part.item)
}

function result(input: Item[], part: Part, context: Context): void {
  if (part.type === 'tool-result') {
    const type = part.custom ? 'custom_tool_call_output' : 'function_call_output'
    input.push({ type, call_id: part.callId, output: outputOf(part, context) })
  } else if (part.type === 'foreign') foreign(input, part)
  else userMessage(input, 'user', [part], context)
}

function outputOf({ content }: ToolResultPart, context: Context): unknown {
  if (content.length === 0) return ''
  const [first] = content
  if (content.length === 1 && first?.type === 'text' && first.cache === undefined) return first.text
  const pieces = contentOf(content, context)
  return pieces.length === 0 ? '' : pieces
}

function contentOf(parts: readonly Part[], context: Context): Item[] {
  return parts.flatMap((part) => {
    const piece = pieceOf(part, context)
    if (piece === undefined) return []
    return [
      part.cache === undefined || !context.markable
        ? piece
        : { ...piece, prompt_cache_breakpoint: { mode: 'explicit' } },
    ]
  })
}

function pieceOf(part: Part, context: Context): Item | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'input_text', text: part.text }
    case 'image':
      return {
        type: 'input_image',
        image_url: toUrl(part.source, part.mime || 'image/png'),
        detail: part.detail || 'auto',
      }
    case 'file':
      return file(part)
    case 'audio':
    case 'video':
      context.omissions.add('messages', `This provider does not support ${part.type}: it was left out`)
      return undefined
    default:
      return undefined
  }
}

function file({ source, mime, name }: MediaPart): Item {
  if ('url' in source && !source.url.startsWith('data:')) return { type: 'input_file', file_url: source.url }
  return { type: 'input_file', filename: name || 'file', file_data: toUrl(source, mime) }
}

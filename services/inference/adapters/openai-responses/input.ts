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
  for (const [i, { role, parts }] of messages.entries()) {
    if (i === 0 && instructions !== undefined) continue
    const at = `messages[${i}].parts`
    if (role === 'assistant') said(input, parts, at, context)
    else if (role === 'tool') for (const [j, part] of parts.entries()) result(input, part, `${at}[${j}]`, context)
    else {
      userMessage(input, role === 'system' ? 'developer' : 'user', contentOf(parts, at, context))
      for (const part of parts) if (part.type === 'foreign') foreign(input, part)
    }
  }
  return { instructions, input }
}

function instructionsOf([first, second]: readonly Message[]): string | undefined {
  const [part, other] = first?.parts ?? []
  const plain = first?.role === 'system' && part?.type === 'text' && part.cache === undefined && other === undefined
  return plain && second !== undefined ? part.text : undefined
}

function userMessage(input: Item[], role: 'developer' | 'user', content: readonly Item[]): void {
  if (content.length > 0) input.push({ type: 'message', role, content })
}

/** What the model said, in order: adjacent words of the same phase are one message. */
function said(input: Item[], parts: readonly Part[], at: string, context: Context): void {
  let words: Item[] | undefined
  let phase: string | undefined
  for (const [i, part] of parts.entries()) {
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
    else if (part.type === 'tool-result') result(input, part, `${at}[${i}]`, context)
    // A picture that the model made can only be sent as the user's.
    else userMessage(input, 'user', piecesOf(part, `${at}[${i}]`, context))
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

function result(input: Item[], part: Part, at: string, context: Context): void {
  if (part.type === 'tool-result') {
    const type = part.custom ? 'custom_tool_call_output' : 'function_call_output'
    input.push({ type, call_id: part.callId, output: outputOf(part, at, context) })
  } else if (part.type === 'foreign') foreign(input, part)
  else userMessage(input, 'user', piecesOf(part, at, context))
}

function outputOf({ content }: ToolResultPart, at: string, context: Context): unknown {
  if (content.length === 0) return ''
  const [first] = content
  if (content.length === 1 && first?.type === 'text' && first.cache === undefined) return first.text
  const pieces = contentOf(content, `${at}.tool_result.content`, context)
  return pieces.length === 0 ? '' : pieces
}

/** The content of a message, whose parts are `at` a path. */
function contentOf(parts: readonly Part[], at: string, context: Context): Item[] {
  return parts.flatMap((part, i) => piecesOf(part, `${at}[${i}]`, context))
}

/** The piece of a content that a part is; none: it is left out. */
function piecesOf(part: Part, at: string, context: Context): Item[] {
  const piece = pieceOf(part, at, context)
  if (piece === undefined) return []
  if (part.cache === undefined || !context.markable) return [piece]
  return [{ ...piece, prompt_cache_breakpoint: { mode: 'explicit' } }]
}

function pieceOf(part: Part, at: string, context: Context): Item | undefined {
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
      context.omissions.add(at, `This provider does not support ${part.type}: it was left out`)
      return undefined
    default:
      return undefined
  }
}

function file({ source, mime, name }: MediaPart): Item {
  if ('url' in source && !source.url.startsWith('data:')) return { type: 'input_file', file_url: source.url }
  return { type: 'input_file', filename: name || 'file', file_data: toUrl(source, mime) }
}

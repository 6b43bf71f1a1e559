import {
  type MediaPart,
  type Message,
  type Part,
  Message_Role as Role,
  type ToolCallPart,
  type ToolResultPart,
} from '#gen/portico/inference/v1/inference_pb.js'
import { isForeign, type Omissions } from '#services/inference/domain/left-out.ts'
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
    if (role === Role.ASSISTANT) answer(input, parts, at, context)
    else if (role === Role.TOOL) for (const [j, part] of parts.entries()) result(input, part, `${at}[${j}]`, context)
    else {
      userMessage(input, role === Role.SYSTEM ? 'developer' : 'user', contentOf(parts, at, context))
      for (const part of parts) if (part.part.case === 'foreign') foreign(input, part)
    }
  }
  return { instructions, input }
}

function instructionsOf([first, second]: readonly Message[]): string | undefined {
  if (first?.role !== Role.SYSTEM || second === undefined) return undefined
  const [only, other] = first.parts
  if (only?.part.case !== 'text' || only.cacheControl !== undefined || other !== undefined) return undefined
  return only.part.value.text
}

function userMessage(input: Item[], role: 'developer' | 'user', content: readonly Item[]): void {
  if (content.length > 0) input.push({ type: 'message', role, content })
}

/** What the model said, in order: adjacent words of the same phase are one message. */
function answer(input: Item[], parts: readonly Part[], at: string, context: Context): void {
  let words: Item[] | undefined
  let lastPhase: string | undefined
  for (const [i, whole] of parts.entries()) {
    const { part } = whole
    if (part.case === 'text' || part.case === 'refusal') {
      const { text, phase } = part.value
      if (words === undefined || phase !== lastPhase) {
        words = []
        lastPhase = phase
        input.push({ type: 'message', role: 'assistant', content: words, phase })
      }
      words.push(part.case === 'text' ? { type: 'output_text', text } : { type: 'refusal', refusal: text })
      continue
    }
    words = undefined
    if (part.case === 'toolCall') input.push(call(part.value))
    else if (part.case === 'reasoning') thought(input, whole)
    // A picture that the model made can only be sent as the user's.
    else result(input, whole, `${at}[${i}]`, context)
  }
}

function call({ callId, name, namespace, custom, arguments: text }: ToolCallPart): Item {
  const group = namespace ? { namespace } : {}
  return custom
    ? { type: 'custom_tool_call', call_id: callId, name, input: text, ...group }
    : { type: 'function_call', call_id: callId, name, arguments: text, ...group }
}

/** Without its encrypted form, a thought means nothing to the API. */
function thought(input: Item[], whole: Part): void {
  const { part } = whole
  if (part.case !== 'reasoning' || !part.value.encrypted || isForeign(whole, OPENAI_FORMAT)) return
  const { id, summary, encrypted } = part.value
  input.push({
    type: 'reasoning',
    id: id || undefined,
    summary: summary ? [{ type: 'summary_text', text: summary }] : [],
    encrypted_content: encrypted,
  })
}

function foreign(input: Item[], whole: Part): void {
  const { part } = whole
  if (part.case === 'foreign' && part.value.item !== undefined && !isForeign(whole, OPENAI_FORMAT)) {
    input.push(part.value.item)
  }
}

function result(input: Item[], whole: Part, at: string, context: Context): void {
  const { part } = whole
  if (part.case === 'toolResult') {
    const { custom, callId: call_id } = part.value
    const type = custom ? 'custom_tool_call_output' : 'function_call_output'
    input.push({ type, call_id, output: outputOf(part.value, at, context) })
  } else if (part.case === 'foreign') foreign(input, whole)
  else userMessage(input, 'user', piecesOf(whole, at, context))
}

function outputOf({ content }: ToolResultPart, at: string, context: Context): unknown {
  if (content.length === 0) return ''
  const [first] = content
  const isAlone = content.length === 1 && first?.cacheControl === undefined
  if (isAlone && first?.part.case === 'text') return first.part.value.text
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
  if (part.cacheControl === undefined || !context.markable) return [piece]
  return [{ ...piece, prompt_cache_breakpoint: { mode: 'explicit' } }]
}

function pieceOf({ part }: Part, at: string, context: Context): Item | undefined {
  switch (part.case) {
    case 'text':
    case 'refusal':
      return { type: 'input_text', text: part.value.text }
    case 'image':
      return { type: 'input_image', image_url: toUrl(part.value, 'image/png'), detail: part.value.detail || 'auto' }
    case 'file':
      return file(part.value)
    case 'audio':
    case 'video':
      context.omissions.add(at, `This provider does not support ${part.case}: it was left out`)
      return undefined
    default:
      return undefined
  }
}

function file(media: MediaPart): Item {
  const { source, name } = media
  if (source.case === 'url' && !source.value.startsWith('data:')) return { type: 'input_file', file_url: source.value }
  return { type: 'input_file', filename: name || 'file', file_data: toUrl(media) }
}

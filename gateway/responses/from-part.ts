import type { LogProbability, Part, Source } from '#gen/portico/inference/v1/inference_pb.js'
import { fromSource } from '../generation/sources.ts'
import { toBase64 } from '../records/tool-content.ts'
import { isHostedItem, NATIVE } from './hosted.ts'
import type { Annotation, ItemStatus, Logprobs, MessageItem, OutputItem, ReasoningItem } from './output.ts'
import { fromOtherItem, fromProof } from './thought.ts'

export interface ItemPlace {
  readonly responseId: string
  /** Number of the output item, from 0. */
  readonly index: number
}

/**
 * The output item that a part of a generation becomes, with the sources that are the part's. An item in progress is
 * empty; its content follows in events. Throws for a part that has no form in a response.
 */
export function fromPart(
  place: ItemPlace,
  { part }: Pick<Part, 'part'>,
  status: ItemStatus,
  { sources = [], tokens = [] }: WithText = {},
): OutputItem {
  const hasContent = status !== 'in_progress'
  switch (part.case) {
    case 'text':
      return message(place, status, part.value, hasContent ? [textContent(part.value.text, sources, tokens)] : [])
    case 'refusal':
      return message(place, status, part.value, hasContent ? [refusalContent(part.value.text)] : [])
    case 'reasoning':
      return reasoning(place, part.value, status)
    case 'toolCall':
      return call(place, part.value, status)
    case 'foreign':
      return foreign(place, part.value, status)
    case 'image': {
      const id = itemId('ig', place)
      const ended = status === 'incomplete' ? 'failed' : status
      return { type: 'image_generation_call', id, result: sourceOf(part.value), status: ended }
    }
    default:
      throw new Error(`A part "${part.case}" cannot be represented in a response`)
  }
}

export interface WithText {
  readonly sources?: readonly Source[] | undefined
  readonly tokens?: readonly LogProbability[] | undefined
}

/** Words of an answer, as a part of a message. */
export function textContent(
  text: string,
  sources: readonly Source[] = [],
  tokens: readonly LogProbability[] = [],
): Extract<MessageItem['content'][number], { type: 'output_text' }> {
  const annotations = sources.flatMap((source) => annotationsOf(source, text))
  return { type: 'output_text', text, annotations, logprobs: tokens.map(fromToken) }
}

export function fromToken(token: LogProbability): Logprobs[number] {
  return { ...alternative(token), top_logprobs: token.alternatives.map(alternative) }
}

function alternative({ token, logProbability, tokenBytes }: LogProbability) {
  return { token, logprob: logProbability, bytes: [...(tokenBytes ?? [])] }
}

/** URLs and files are cited. */
function annotationsOf(source: Source, text: string): Annotation[] {
  if (source.url) return [{ type: 'url_citation', ...fromSource(source, { from: 0, to: text.length }) }]
  const { fileId, fileName: filename = '', start: index = 0 } = source
  return fileId ? [{ type: 'file_citation', file_id: fileId, filename, index }] : []
}

export function refusalContent(refusal: string): Extract<MessageItem['content'][number], { type: 'refusal' }> {
  return { type: 'refusal', refusal }
}

type PartOf<C extends string> = Extract<Part['part'], { case: C }>['value']

function message(
  place: ItemPlace,
  status: ItemStatus,
  { phase }: PartOf<'text'>,
  content: MessageItem['content'],
): MessageItem {
  const why = phase === 'commentary' || phase === 'final_answer' ? ({ phase } as const) : {}
  return { type: 'message', id: itemId('msg', place), status, role: 'assistant', ...why, content }
}

function call(place: ItemPlace, part: PartOf<'toolCall'>, status: ItemStatus): OutputItem {
  const { callId, name, custom, namespace, signature, format } = part
  const called = { call_id: callId, name, namespace: namespace || undefined }
  if (custom) return { type: 'custom_tool_call', id: itemId('ctc', place), ...called, input: part.arguments, status }
  const proof = signature ? { signature, format: format || undefined } : {}
  return { type: 'function_call', id: itemId('fc', place), ...called, arguments: part.arguments, ...proof, status }
}

/** An item of this dialect's own kind of provider is unchanged. */
function foreign(place: ItemPlace, part: PartOf<'foreign'>, status: ItemStatus): OutputItem {
  const { format, item = {} } = part
  if (format === NATIVE && isHostedItem(item)) {
    const begins = status === 'in_progress' && typeof item.status === 'string'
    return begins ? { ...item, status } : item
  }
  const members = status === 'in_progress' ? {} : fromOtherItem(part)
  return { type: 'reasoning', id: itemId('rs', place), summary: [], ...members, status }
}

function reasoning(place: ItemPlace, thought: PartOf<'reasoning'>, status: ItemStatus): ReasoningItem {
  const { text, summary } = thought
  // A thought without words keeps the provider's id, which belongs to its encrypted form.
  const id = (!text && !summary && thought.id) || itemId('rs', place)
  if (status === 'in_progress') return { type: 'reasoning', id, summary: [], status }
  return {
    type: 'reasoning',
    id,
    summary: summary ? [{ type: 'summary_text', text: summary }] : [],
    content: text ? [{ type: 'reasoning_text', text }] : undefined,
    ...fromProof(thought),
    status,
  }
}

/** Base64, or an address; null: nothing came. */
function sourceOf({ source }: PartOf<'image'>): string | null {
  if (source.case === 'url') return source.value
  if (source.case === undefined) return null
  return toBase64(source.value)
}

/** Id of an item: the response's, with a prefix of its kind, and its place. */
function itemId(prefix: 'msg' | 'fc' | 'ctc' | 'rs' | 'ig', { responseId, index }: ItemPlace): string {
  return `${prefix}_${responseId.slice('resp_'.length)}_${index}`
}

import type { LogProbability, Part, Source } from '#gen/portico/inference/v1/inference_pb.js'
import { sealItem } from '../generation/sealed-item.ts'
import { fromSource } from '../generation/sources.ts'
import { toBase64 } from '../records/tool-content.ts'
import type { ChatDelta } from './chunk.ts'
import type { ChatAnnotation, ChatLogprobs, ChatMessage, ReasoningDetail } from './completion.ts'

export type PartOf<C extends string> = Extract<Part['part'], { case: C }>['value']
type Thought = Pick<PartOf<'reasoning'>, 'text' | 'summary' | 'signature' | 'encrypted' | 'id' | 'format'>

/**
 * The details of a thought: its words, with the provider's proof, then what is encrypted. `index`: number of the
 * thought. All details of one thought have the same number, so that they can be joined again in a history.
 */
export function fromThought(thought: Thought, index: number): ReasoningDetail[] {
  const { text, summary, signature, encrypted } = thought
  const shared = ofThought(thought, index)
  const details: ReasoningDetail[] = []
  if (summary) details.push({ type: 'reasoning.summary', summary, ...shared })
  if (text || signature) {
    details.push({ type: 'reasoning.text', text: text || undefined, signature: signature || undefined, ...shared })
  }
  if (encrypted) details.push({ type: 'reasoning.encrypted', data: encrypted, ...shared })
  return details
}

/** The details of a thought apart from its words, which have been streamed as parts of this `kind`. */
export function afterWords(thought: Thought, index: number, kind: 'text' | 'summary'): ReasoningDetail[] {
  const proofs = fromThought({ ...thought, text: undefined, summary: undefined }, index)
  if (proofs.length > 0 || (!thought.id && !thought.format)) return proofs
  const shared = ofThought(thought, index)
  return [
    kind === 'text' ? { type: 'reasoning.text', ...shared } : { type: 'reasoning.summary', summary: '', ...shared },
  ]
}

function ofThought({ id, format }: Pick<Thought, 'id' | 'format'>, index: number) {
  return { id: id || undefined, format: format || undefined, index }
}

/**
 * The reasoning detail that stands for an item in the provider's own format: encrypted data that clients send back
 * unchanged.
 */
export function fromForeign({ format, item }: PartOf<'foreign'>, index: number): ReasoningDetail[] {
  return item === undefined ? [] : [{ type: 'reasoning.encrypted', data: sealItem(item), format, index }]
}

/** The provider's proof of a tool call, as OpenRouter shows it: something encrypted with the id of the call. */
export function fromCallProof({ callId, signature, format }: PartOf<'toolCall'>, index: number): ReasoningDetail[] {
  return signature
    ? [{ type: 'reasoning.encrypted', data: signature, ...ofThought({ id: callId, format }, index) }]
    : []
}

export function fromCall(call: PartOf<'toolCall'>): NonNullable<ChatMessage['tool_calls']>[number] {
  const { callId: id, name, custom } = call
  if (custom) return { id, type: 'custom', custom: { name, input: call.arguments } }
  return { id, type: 'function', function: { name, arguments: call.arguments } }
}

/** A picture; `index`: its number. Undefined: nothing came. */
export function fromImage(media: PartOf<'image'>, index: number): NonNullable<ChatDelta['images']>[number] | undefined {
  const url = urlOf(media)
  return url === undefined ? undefined : { type: 'image_url', image_url: { url }, index }
}

/** A file. Undefined: nothing came. */
export function fromFile(media: PartOf<'file'>): NonNullable<ChatDelta['files']>[number] | undefined {
  const url = urlOf(media)
  if (url === undefined) return undefined
  return { type: 'file', file: { filename: media.name || undefined, file_data: url } }
}

/** An address, or a data: URL. */
function urlOf({ source, mime }: PartOf<'image'>): string | undefined {
  if (source.case !== 'data') return source.value
  return `data:${mime || 'application/octet-stream'};base64,${toBase64(source.value)}`
}

/**
 * The sources that a message names, those with an address. `texts`: from where to where the text of each part goes in
 * the content, by the index of the part.
 */
export function fromSources(
  sources: readonly Source[],
  texts: ReadonlyMap<number, { readonly from: number; readonly to: number }>,
): ChatAnnotation[] {
  return sources.flatMap((source): ChatAnnotation[] => {
    const text = texts.get(source.partIndex)
    return source.url && text ? [{ type: 'url_citation', url_citation: fromSource(source, text) }] : []
  })
}

/** Log probabilities of tokens that were streamed. */
export function fromTokens(refusal: boolean, tokens: readonly LogProbability[]): ChatLogprobs {
  const logprobs = fromLogProbabilities(tokens)
  return refusal ? { content: null, refusal: logprobs } : { content: logprobs, refusal: null }
}

export function fromLogProbabilities(tokens: readonly LogProbability[]): NonNullable<ChatLogprobs['content']> {
  return tokens.map((token) => ({ ...fromToken(token), top_logprobs: token.alternatives.map(fromToken) }))
}

function fromToken({ token, logProbability, tokenBytes }: LogProbability) {
  return { token, logprob: logProbability, bytes: tokenBytes === undefined ? null : [...tokenBytes] }
}

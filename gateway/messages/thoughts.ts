import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ForeignPart,
  PartSchema,
  ReasoningPart,
  ReasoningPartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { parseObject } from '#shared/json.ts'
import { openItem, sealItem } from '../generation/sealed-item.ts'
import { openProof, sealProof } from '../generation/thought.ts'
import { ANTHROPIC } from './to-settings.ts'

type Thought = Pick<ReasoningPart, 'text' | 'summary' | 'signature' | 'encrypted' | 'id' | 'format'>
type ThoughtBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/**
 * A thought as a block. Anthropic's form has one opaque text; all proofs of another provider are packed into it, with
 * the provider's kind, so that they go back only to that kind.
 */
export function fromThought(thought: Thought): ThoughtBlock {
  const { text, summary, signature, encrypted, format } = thought
  const words = text || summary || ''
  const native = format === undefined || format === ANTHROPIC
  const proof = native ? (signature ?? encrypted ?? '') : sealOf(thought)
  if (words === '' && (encrypted || (!native && proof !== ''))) return { type: 'redacted_thinking', data: proof }
  return { type: 'thinking', thinking: words, signature: proof }
}

function sealOf({ text, signature, encrypted, id, format = '' }: Thought): string {
  if (!signature && !encrypted && !id) return ''
  const parts = { signature, encrypted, id, summary: text ? undefined : true }
  return sealProof(format, JSON.stringify(parts), ANTHROPIC)
}

/** The thought that a block of history holds: `words` is empty in one whose thought is hidden. */
export function toThought(
  words: string,
  opaque: string,
  hidden: boolean,
): MessageInitShape<typeof ReasoningPartSchema> {
  const text = words === '' ? undefined : words
  if (opaque === '') return { text }
  const { format, proof } = openProof(opaque, ANTHROPIC)
  if (format === ANTHROPIC) return { text, format, ...(hidden ? { encrypted: proof } : { signature: proof }) }
  const { signature, encrypted, id, summary } = parseObject(proof) ?? {}
  return { ...(summary === true ? { summary: text } : { text }), ...texts({ signature, encrypted, id }), format }
}

function texts<K extends string>(members: Readonly<Record<K, unknown>>): { readonly [name in K]?: string } {
  const present = Object.entries(members).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(present) as { readonly [name in K]?: string }
}

/** An item of another kind of provider as a hidden thought, since a message has no block for it. */
export function fromForeign({ format, item = {} }: Pick<ForeignPart, 'format' | 'item'>): ThoughtBlock {
  return { type: 'redacted_thinking', data: sealProof(format, sealItem(item), ANTHROPIC) }
}

/** Unpacks a hidden thought of the history: a thought, or such an item. */
export function toHidden(data: string): NonNullable<MessageInitShape<typeof PartSchema>['part']> {
  const { format = '', proof } = openProof(data, ANTHROPIC)
  const item = format === ANTHROPIC ? undefined : openItem(proof)
  if (item !== undefined) return { case: 'foreign', value: { format, item } }
  return { case: 'reasoning', value: toThought('', data, true) }
}

import { GrowingText } from '#shared/collections/growing-text.ts'
import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { LogProbability, PartKind } from './generation.ts'
import type { Called } from './tools.ts'

/** The textual kinds of parts, which grow. */
export type GrowingKind = Exclude<PartKind, 'image' | 'file' | 'foreign'>

/** A part in progress. */
export interface OpenPart {
  readonly index: number
  readonly kind: GrowingKind
  /** Only with `tool-call`. */
  readonly called: Called | undefined
  /** The model's phase for a text; undefined: none. Only with `text` and `refusal`. */
  readonly phase: string | undefined
  readonly text: GrowingText
  /** The first half of a surrogate pair whose other half has not come yet; else empty. */
  held: string
  /** The provider's proof of a thought or a call. */
  signature: string
  /** The encrypted form of a thought. */
  encrypted: string
  /** The provider's id of a thought. */
  id: string
  /** The kind of provider that made the proof or the encrypted form. */
  format: string
  /** Log probabilities whose text is held back. */
  tokens: LogProbability[]
  /** Whether it began when the answer was cut off, so that nobody gets it. */
  isDropped: boolean
  /** What else the provider says about the part. */
  metadata: JsonObject | undefined
}

/** Maximum length of an id or name that a provider made, in characters. */
export const MAX_NAME = 1_000

/** A part that begins; its ids and names are shortened. */
export function openPart(index: number, kind: GrowingKind, called?: Called, phase?: string): OpenPart {
  const { signature = '', format = '' } = called ?? {}
  const proof = { signature, encrypted: '', id: '', format }
  const grown = { text: new GrowingText(), held: '', tokens: [] }
  return {
    index,
    kind,
    called: called && shortened(called),
    phase,
    ...grown,
    ...proof,
    isDropped: false,
    metadata: undefined,
  }
}

/** The part that it has become. */
export function wholePart(part: OpenPart): Part {
  const { kind, called } = part
  const text = part.text.toString()
  if (called !== undefined) {
    const { callId, toolName: name, signature: _1, format: _2, ...special } = called
    return { type: 'tool-call', callId, name, arguments: text, ...special, ...given(part, 'signature', 'format') }
  }
  const words = text === '' ? undefined : text
  const proof = given(part, 'signature', 'encrypted', 'id', 'format')
  if (kind === 'reasoning') return { type: 'reasoning', text: words, ...proof }
  if (kind === 'reasoning-summary') return { type: 'reasoning', summary: words, ...proof }
  const { phase } = part
  return { type: kind === 'refusal' ? 'refusal' : 'text', text, ...(phase === undefined ? {} : { phase }) }
}

/** The members that are not empty. */
function given<N extends 'signature' | 'encrypted' | 'id' | 'format'>(part: OpenPart, ...names: readonly N[]) {
  const found: { [name in N]?: string } = {}
  for (const name of names) if (part[name] !== '') found[name] = part[name]
  return found
}

function shortened({ callId, toolName, custom, namespace, signature, format }: Called): Called {
  const proof = signature === undefined ? {} : { signature, format }
  const short = { callId: callId.slice(0, MAX_NAME), toolName: toolName.slice(0, MAX_NAME), ...proof }
  const special = custom === true ? { custom } : {}
  return namespace === undefined
    ? { ...short, ...special }
    : { ...short, ...special, namespace: namespace.slice(0, MAX_NAME) }
}

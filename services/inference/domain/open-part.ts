import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { LogProbability, PartKind } from './generation.ts'

/** The text-like kinds of part, which grow. */
export type GrowingKind = Exclude<PartKind, 'image' | 'file' | 'foreign'>

/** The call of a `tool-call`. */
export interface Called {
  readonly callId: string
  readonly toolName: string
  /** Whether the tool is a custom one. */
  readonly custom?: boolean | undefined
  /** Of the tool; undefined: none. */
  readonly namespace?: string | undefined
}

/** A part that has begun and not ended. */
export interface OpenPart {
  readonly index: number
  readonly kind: GrowingKind
  /** With `tool-call` only. */
  readonly called: Called | undefined
  /** What the model says a text for; undefined: it does not say. With `text` and `refusal` only. */
  readonly phase: string | undefined
  text: string
  /** The first half of a character whose other half has not come yet; else empty. */
  held: string
  /** The provider's proof of a thought or of a call. */
  signature: string
  /** Of a thought: its encrypted form. */
  encrypted: string
  /** Of a thought: how the provider calls it. */
  id: string
  /** The kind of provider that made proof or encrypted form. */
  format: string
  /** Log probabilities whose text is held. */
  tokens: LogProbability[]
  /** What the provider says of the part that no other member holds. */
  metadata: JsonObject | undefined
}

/** Longest id or name that a provider made up, in characters. */
export const MAX_NAME = 1_000

/** A part that begins; ids and names are shortened. */
export function openPart(index: number, kind: GrowingKind, called?: Called, phase?: string): OpenPart {
  const proof = { signature: '', encrypted: '', id: '', format: '' }
  const short = called && shortened(called)
  return { index, kind, called: short, phase, text: '', held: '', ...proof, tokens: [], metadata: undefined }
}

/** The part that it has become. */
export function wholePart(part: OpenPart): Part {
  const { kind, called, text } = part
  if (called !== undefined) {
    const { callId, toolName: name, ...special } = called
    return { type: 'tool-call', callId, name, arguments: text, ...special, ...given(part, 'signature', 'format') }
  }
  const words = text === '' ? undefined : text
  const proof = given(part, 'signature', 'encrypted', 'id', 'format')
  if (kind === 'reasoning') return { type: 'reasoning', text: words, ...proof }
  if (kind === 'reasoning-summary') return { type: 'reasoning', summary: words, ...proof }
  const { phase } = part
  return { type: kind === 'refusal' ? 'refusal' : 'text', text, ...(phase === undefined ? {} : { phase }) }
}

/** Those members that are not empty. */
function given<N extends 'signature' | 'encrypted' | 'id' | 'format'>(part: OpenPart, ...names: readonly N[]) {
  const found: { [name in N]?: string } = {}
  for (const name of names) if (part[name] !== '') found[name] = part[name]
  return found
}

function shortened({ callId, toolName, custom, namespace }: Called): Called {
  const short = { callId: callId.slice(0, MAX_NAME), toolName: toolName.slice(0, MAX_NAME) }
  const special = custom === true ? { custom } : {}
  return namespace === undefined
    ? { ...short, ...special }
    : { ...short, ...special, namespace: namespace.slice(0, MAX_NAME) }
}

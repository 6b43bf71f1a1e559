import type { JsonObject } from '#shared/json.ts'
/** Asks the provider to cache what comes before. */
export interface CacheControl {
  /** `5m` or `1h`; undefined: the provider's default. */
  readonly ttl?: string | undefined
}

/** Content, or the address of it, which only the provider fetches. */
export type MediaSource = { readonly data: Uint8Array } | { readonly url: string }

interface AnyPart {
  readonly cache?: CacheControl | undefined
  /** What the provider said of a generated part that no other member holds, in its own words. */
  readonly providerMetadata?: JsonObject | undefined
}

/** Text, or the model's words of refusal. */
export interface TextPart extends AnyPart {
  readonly type: 'text' | 'refusal'
  readonly text: string
}

/** A picture, a file or sound. */
export interface MediaPart extends AnyPart {
  readonly type: 'image' | 'file' | 'audio'
  readonly source: MediaSource
  /** Media type; undefined: unknown. */
  readonly mime?: string | undefined
  /** File name; undefined: it has none. */
  readonly name?: string | undefined
  /** How closely to look at a picture; undefined: the provider's default. */
  readonly detail?: string | undefined
}

/** What the model thought. Undefined members were not given. */
export interface ReasoningPart extends AnyPart {
  readonly type: 'reasoning'
  readonly text?: string | undefined
  readonly summary?: string | undefined
  /** The provider's proof, sent back untouched. */
  readonly signature?: string | undefined
  /** The encrypted thought, sent back untouched. */
  readonly encrypted?: string | undefined
  /** The provider's id of the thought. */
  readonly id?: string | undefined
}

/** A call that the model made. */
export interface ToolCallPart extends AnyPart {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** JSON text exactly as the model wrote it. */
  readonly arguments: string
}

/** What a call answered. */
export interface ToolResultPart extends AnyPart {
  readonly type: 'tool-result'
  readonly callId: string
  readonly content: readonly Part[]
  readonly failed: boolean
}

/** One piece of a message. */
export type Part = TextPart | MediaPart | ReasoningPart | ToolCallPart | ToolResultPart

/** One turn of a conversation. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly Part[]
}

/** The text of parts, one after the other; other kinds are left out. */
export function textOf(parts: readonly Part[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text' || part.type === 'refusal') text += part.text
  return text
}

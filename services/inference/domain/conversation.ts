import type { JsonObject } from '#shared/json.ts'
/** Asks the provider to cache what comes before. */
export interface CacheControl {
  /** `5m` or `1h`; undefined: the provider's default. */
  readonly ttl?: string | undefined
  /** Whether it reaches only providers that are known to take markers, and those whose setting says so; undefined: it does not. */
  readonly hint?: true
}

/** Content, or the address of it, which only the provider fetches. */
export type MediaSource = { readonly data: Uint8Array } | { readonly url: string }

interface AnyPart {
  readonly cache?: CacheControl | undefined
  /**
   * What the provider said of a generated part that no other member holds, in its own words. In a request: by the kind of provider
   * ({@link ReasoningPart.format}), further members for that kind.
   */
  readonly providerMetadata?: JsonObject | undefined
}

/** A document that a text rests on. Undefined members were not given. */
export interface Citation {
  readonly url: string | undefined
  readonly title: string | undefined
  /** Bounds of the passage of the text that rests on it, in UTF-16 code units, the end exclusive. */
  readonly start: number | undefined
  readonly end: number | undefined
  /** The passage of the source that is cited. */
  readonly citedText: string | undefined
  /** The provider's id of the file. */
  readonly fileId?: string | undefined
  readonly fileName?: string | undefined
}

/** Text, or the model's words of refusal. */
export interface TextPart extends AnyPart {
  readonly type: 'text' | 'refusal'
  readonly text: string
  /** What a text of the conversation names; sources of a generated text come by themselves. Undefined: none. */
  readonly sources?: readonly Citation[] | undefined
  /** What the model says it for, sent back untouched; undefined: it does not say. */
  readonly phase?: string | undefined
}

/** An item that has a meaning for one kind of provider only, kept as it is. */
export interface ForeignPart extends AnyPart {
  readonly type: 'foreign'
  /** Whose it is, as of {@link ReasoningPart.format}. Providers of other kinds do not get it. */
  readonly format: string
  /** In that provider's form. */
  readonly item: JsonObject
}

/** A picture, a file, sound or a video. */
export interface MediaPart extends AnyPart {
  readonly type: 'image' | 'file' | 'audio' | 'video'
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
  /** The kind of provider that made it: signature and encrypted thought mean something to that kind alone. */
  readonly format?: string | undefined
}

/** A call that the model made. */
export interface ToolCallPart extends AnyPart {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** Exactly as the model wrote it: JSON text, or any text where the tool is a custom one. */
  readonly arguments: string
  /** Whether the tool is a custom one. */
  readonly custom?: boolean | undefined
  /** Of the tool; undefined: none. */
  readonly namespace?: string | undefined
  /** The provider's proof of the call, sent back untouched. */
  readonly signature?: string | undefined
  /** The kind of provider that made the proof, as of {@link ReasoningPart.format}. */
  readonly format?: string | undefined
}

/** What a call answered. */
export interface ToolResultPart extends AnyPart {
  readonly type: 'tool-result'
  readonly callId: string
  readonly content: readonly Part[]
  readonly failed: boolean
  /** Whether the tool that was called is a custom one. */
  readonly custom?: boolean | undefined
}

/** One piece of a message. */
export type Part = TextPart | MediaPart | ReasoningPart | ToolCallPart | ToolResultPart | ForeignPart

/** One turn of a conversation. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly Part[]
  /** By the kind of provider ({@link ReasoningPart.format}), further members for that kind; undefined: none. */
  readonly providerMetadata?: JsonObject | undefined
}

/** The text of parts, one after the other; other kinds are left out. */
export function textOf(parts: readonly Part[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text' || part.type === 'refusal') text += part.text
  return text
}

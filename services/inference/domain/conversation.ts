import type { JsonObject } from '#shared/json.ts'
/** Marks everything up to here for caching by the provider. */
export interface CacheControl {
  /** `5m` or `1h`; undefined: the provider's default. */
  readonly ttl?: string | undefined
  /**
   * Whether the marker is only sent to providers that are known to accept markers, and to those whose setting says so;
   * undefined: no.
   */
  readonly hint?: true
}

/** Content, or its URL, which only the provider fetches. */
export type MediaSource = { readonly data: Uint8Array } | { readonly url: string }

interface AnyPart {
  readonly cache?: CacheControl | undefined
  /**
   * What the provider said about a generated part that no other member contains, in its own words. In a request: by
   * format ({@link ReasoningPart.format}), further members for that kind of provider.
   */
  readonly providerMetadata?: JsonObject | undefined
}

/** A source of a text. Members that were not given are undefined. */
export interface Citation {
  readonly url: string | undefined
  readonly title: string | undefined
  /** Bounds of the passage that rests on the source, in UTF-16 code units; the end is exclusive. */
  readonly start: number | undefined
  readonly end: number | undefined
  /** The cited passage of the source. */
  readonly citedText: string | undefined
  /** The provider's id of the file. */
  readonly fileId?: string | undefined
  readonly fileName?: string | undefined
}

/** Text, or the model's refusal. */
export interface TextPart extends AnyPart {
  readonly type: 'text' | 'refusal'
  readonly text: string
  /** The sources of a text in a conversation; those of a generated text are separate events. Undefined: none. */
  readonly sources?: readonly Citation[] | undefined
  /** The model's phase for the text, sent back unchanged; undefined: none. */
  readonly phase?: string | undefined
}

/** An item that only one kind of provider understands, kept unchanged. */
export interface ForeignPart extends AnyPart {
  readonly type: 'foreign'
  /** Its format, as in {@link ReasoningPart.format}. Other kinds of providers do not get it. */
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

/** What the model thought. Members that were not given are undefined. */
export interface ReasoningPart extends AnyPart {
  readonly type: 'reasoning'
  readonly text?: string | undefined
  readonly summary?: string | undefined
  /** The provider's proof, sent back unchanged. */
  readonly signature?: string | undefined
  /** The encrypted thought, sent back unchanged. */
  readonly encrypted?: string | undefined
  /** The provider's id of the thought. */
  readonly id?: string | undefined
  /** The kind of provider that made it, which alone understands signature and encrypted thought. */
  readonly format?: string | undefined
}

/** A call that the model made. */
export interface ToolCallPart extends AnyPart {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** Exactly as the model wrote it: JSON text, or any text if the tool is a custom one. */
  readonly arguments: string
  /** Whether the tool is a custom one. */
  readonly custom?: boolean | undefined
  /** Namespace of the tool; undefined: none. */
  readonly namespace?: string | undefined
  /** The provider's proof of the call, sent back unchanged. */
  readonly signature?: string | undefined
  /** The kind of provider that made the proof, as in {@link ReasoningPart.format}. */
  readonly format?: string | undefined
}

/** The result of a call. */
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
  /** By format ({@link ReasoningPart.format}), further members for that kind of provider; undefined: none. */
  readonly providerMetadata?: JsonObject | undefined
}

/** Joins the text of parts; parts of other kinds are left out. */
export function textOf(parts: readonly Part[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text' || part.type === 'refusal') text += part.text
  return text
}

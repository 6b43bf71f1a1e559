import type { JsonObject } from '#shared/json.ts'

/** Where something stands in the text of a prompt. */
export interface Mention {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Content that lies in the blob store. */
export interface BlobRef {
  /** SHA-256 of the content, hexadecimal. */
  readonly hash: string
  /** Bytes. */
  readonly size: number
}

/** A file of a prompt. */
export interface FileAttachment {
  readonly blob: BlobRef
  readonly mime: string
  /** Where it was read from; undefined: it came with the prompt. */
  readonly uri: string | undefined
  readonly name: string | undefined
  readonly description: string | undefined
  readonly mention: Mention | undefined
}

/** An agent named in a prompt. */
export interface AgentAttachment {
  readonly name: string
  readonly mention: Mention | undefined
}

/** A skill named in a prompt. */
export interface SkillAttachment {
  readonly id: string
  readonly name: string
  /** Its instructions when the prompt was admitted; absent where the prompt named the skill before. */
  readonly text?: string
  readonly mention?: Mention
}

/** What a user said. */
export interface Prompt {
  readonly text: string
  readonly files: readonly FileAttachment[]
  readonly agents: readonly AgentAttachment[]
  readonly metadata: JsonObject | undefined
  /** None where it is absent. */
  readonly skills?: readonly SkillAttachment[]
}

/** A text that a program adds to a conversation. */
export interface SyntheticText {
  readonly text: string
  /** For people. */
  readonly description: string | undefined
  readonly metadata: JsonObject | undefined
}

/** One piece of what a tool returns. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly blob: BlobRef; readonly mime: string; readonly name: string | undefined }
  /** Of an imported message, where only the address of a file is known. */
  | { readonly type: 'link'; readonly uri: string; readonly mime: string; readonly name: string | undefined }

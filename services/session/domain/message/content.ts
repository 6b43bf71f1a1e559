import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** Where something stands in the text of a prompt. */
export interface Mention {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A file of a prompt. */
export interface FileAttachment {
  readonly blob: Pick<BlobRef, 'hash' | 'size'>
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

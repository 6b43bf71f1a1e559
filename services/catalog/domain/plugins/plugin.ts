import type { JsonObject } from '#shared/json.ts'

/** Where a plugin comes from. */
export type PluginOrigin =
  | { readonly type: 'package'; readonly target: string }
  | { readonly type: 'local'; readonly path: string }

/** A file that a prompt attaches, before it is read. */
export interface HookedFile {
  readonly uri: string
  readonly name: string | undefined
  readonly description: string | undefined
}

/** A prompt that hooks may change before it is admitted. */
export interface HookedPrompt {
  readonly text: string
  readonly files: readonly HookedFile[]
  /** Ids of what it names. */
  readonly agents: readonly string[]
  readonly skills: readonly string[]
  readonly metadata: JsonObject
  readonly delivery: 'steer' | 'queue'
}

/** Ids of the agents and skills that a prompt can name. */
export interface KnownNames {
  readonly agents: ReadonlySet<string>
  readonly skills: ReadonlySet<string>
}

/** A tool call, as hooks see it. */
export interface HookedCall {
  readonly sessionId: string
  readonly tool: string
  readonly input: JsonObject
}

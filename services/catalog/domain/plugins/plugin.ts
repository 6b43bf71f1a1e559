import type { JsonObject } from '#shared/json.ts'

/** Where a plugin comes from. */
export type PluginOrigin =
  | { readonly type: 'package'; readonly target: string }
  | { readonly type: 'local'; readonly path: string }

/** What is known about a plugin. */
export interface PluginInfo {
  /** Undefined: it failed before it was known. */
  readonly id: string | undefined
  readonly origin: PluginOrigin
  /** Version of an installed package. */
  readonly version: string | undefined
  readonly outdated: boolean
  readonly updating: boolean
  /** It must not run, for the reason in its failure. */
  readonly refused: boolean
  /** Undefined: it is active. */
  readonly failure: PluginFailure | undefined
}

export interface PluginFailure {
  /** For people. */
  readonly error: string
  /** Also in the log; undefined: nothing was tried. */
  readonly ref: string | undefined
}

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

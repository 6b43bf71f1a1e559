import type { JsonObject } from '#shared/json.ts'

/** Where a plugin comes from. */
export type PluginOrigin =
  | { readonly type: 'package'; readonly target: string }
  | { readonly type: 'local'; readonly path: string }

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

import type { EditedPrompt, Plugin, Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument } from '../domain/agent.ts'
import type { HookedCall, LocationNames, PackageTarget } from '../domain/plugins/plugin.ts'
import type { HookName, PluginEvent } from '../domain/plugins/registration.ts'
import type { ToolOutcome } from '../domain/tool-outcome.ts'
import type { Source } from './source.ts'

/**
 * The plugins of a location, and what they do besides their tools. A plugin that fails in a hook has failed from then
 * on, and the value that it was given remains unchanged: nothing here rejects because of a plugin, only with the reason
 * of the signal.
 */
export interface Plugins {
  /** Every configured plugin, in the order in which their hooks are called. */
  readonly list: Plugin[]
  /** The packages that they come from. */
  readonly packages: readonly PackageTarget[]
  /** Resolves when each has loaded or failed, or after 20 s. */
  settled(signal: AbortSignal): Promise<void>
  /** The hooks that some plugin has: calling any other one changes nothing. */
  readonly hooks: ReadonlySet<HookName>
  /** Their agents, as the document with the lowest precedence, and the `ask` rules of all agents. */
  readonly agents: AgentDocument
  readonly skills: readonly Skill[]
  /** The changed prompt, and the ids of the plugins that changed it; they may name what is `known`. */
  prompt(
    prompt: EditedPrompt,
    about: { readonly sessionId: string; readonly names: LocationNames },
    signal: AbortSignal,
  ): Promise<{ readonly prompt: EditedPrompt; readonly changedBy: string[] }>
  /** The changed input of a call. Rejects with TOOL_REFUSED (metadata problem) if a plugin refuses the call. */
  beforeTool(call: HookedCall, signal: AbortSignal): Promise<HookedCall['input']>
  /** The outcome of a call, perhaps with a changed text. */
  afterTool(call: HookedCall, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome>
  /** Texts that follow an agent's instructions in one step. */
  instructions(step: { readonly sessionId: string; readonly agent: string }, signal: AbortSignal): Promise<string[]>
  /** Passes an event on to the plugins that listen and are running now. */
  emit(event: PluginEvent, data: unknown): void
}

export type PluginSource = Source<Plugins>

import type { AgentDocument } from '../domain/agent.ts'
import type { HookedCall, HookedPrompt, KnownNames, PluginInfo } from '../domain/plugins/plugin.ts'
import type { HookName, PluginEvent } from '../domain/plugins/registration.ts'
import type { Skill } from '../domain/skill.ts'
import type { Source } from './source.ts'
import type { ToolOutcome } from './tools.ts'

/**
 * The plugins of a location, and what they do beside their tools. A plugin that fails in a hook is failed from then on, and
 * what it was given goes on as it was: nothing here rejects for a plugin's sake, only with the reason of the signal.
 */
export interface Plugins {
  /** Every plugin that is configured, in the order in which their hooks are called. */
  readonly list: readonly PluginInfo[]
  /** Resolves when each has loaded or failed, or was waited for for 20 s. */
  settled(signal: AbortSignal): Promise<void>
  /** The hooks that some plugin has: calling another one changes nothing. */
  readonly hooks: ReadonlySet<HookName>
  /** What their agents are, as the document with the lowest precedence, and the `ask` rules of all agents. */
  readonly agents: AgentDocument
  readonly skills: readonly Skill[]
  /** What a prompt has become, and the ids of the plugins that changed something of it: they may name what is `known`. */
  prompt(
    prompt: HookedPrompt,
    about: { readonly sessionId: string; readonly known: KnownNames },
    signal: AbortSignal,
  ): Promise<{ readonly prompt: HookedPrompt; readonly changedBy: readonly string[] }>
  /** What the input of a call has become. Rejects with TOOL_REFUSED (metadata problem) when a plugin refuses the call. */
  beforeTool(call: HookedCall, signal: AbortSignal): Promise<HookedCall['input']>
  /** How a call has ended, its text maybe another one. */
  afterTool(call: HookedCall, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome>
  /** Texts that stand after an agent's instructions in one step. */
  instructions(step: { readonly sessionId: string; readonly agent: string }, signal: AbortSignal): Promise<string[]>
  /** Passes an event on to the plugins that listen and are at work now. */
  emit(event: PluginEvent, data: unknown): void
}

/** Knows the plugins of locations. */
export type PluginSource = Source<Plugins>

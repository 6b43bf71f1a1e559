// The types of a plugin, for its author; see docs/plugins.md.

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
/** A JSON object. */
export type JsonMap = { [name: string]: Json }

/** The default export of a plugin's module. */
export interface Plugin {
  /** Letters, digits, `.`, `_` and `-`, at most 64; unique in a location. */
  readonly id: string
  /** Called once in each process that runs the plugin. What it registers applies once it has resolved. */
  setup(context: PluginContext): void | Promise<void>
}

/** What `setup` works with. Everything must be registered before it resolves. */
export interface PluginContext {
  /** The location's directory, an absolute path. */
  readonly directory: string
  /** The plugin's options in the configuration; null: none. */
  readonly options: Json
  tool(tool: PluginTool): void
  /**
   * Adds an agent; `agent` is like an entry of `agents` in a configuration document. Files of the user and the project
   * take precedence.
   */
  agent(id: string, agent: JsonMap): void
  skill(skill: PluginSkill): void
  hook<K extends keyof Hooks>(name: K, hook: Hooks[K]): void
  /** Listens to events of the location while the plugin's process is alive; it is not started for them. */
  on<K extends keyof Events>(type: K, listener: (event: Events[K]) => void): void
}

/** A tool. */
export interface PluginTool {
  /** Letters, digits, `_` and `-`, at most 64. If the name is taken, the plugin's id is put in front of it. */
  readonly name: string
  readonly description: string
  /** JSON Schema of type `object`; input that does not match it never gets here. */
  readonly inputSchema: JsonMap
  /**
   * Action of the permission that a call requires, with the plugin's id as resource; default: the tool's name. Not one
   * of Portico's own tools.
   * Permission is requested unless rules say otherwise.
   */
  readonly permission?: string
  /** The model reads what it returns (nothing: `(no output)`), or the message of what it throws. */
  execute(input: JsonMap, context: ToolContext): ToolResult | undefined | Promise<ToolResult | undefined>
}

/** What a tool call works with. */
export interface ToolContext {
  /**
   * Aborts when the call must end. If the call continues for another 5 s, it is ended together with the plugin's
   * thread.
   */
  readonly signal: AbortSignal
  readonly directory: string
  readonly sessionID: string
  readonly callID: string
  /** Reports progress; of many reports in a short time, only the last one is passed on. */
  progress(metadata: JsonMap): void
}

/** A text, or pieces. */
export type ToolResult = string | { readonly content: readonly ToolPiece[]; readonly metadata?: JsonMap }

export type ToolPiece =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'file'; readonly data: string; readonly mime: string; readonly name: string }

/** Instructions for one kind of work, which a model reads when it gets to that. */
export interface PluginSkill {
  readonly id: string
  readonly name?: string
  readonly description: string
  readonly text: string
}

/** A prompt before it is admitted. */
export interface PluginPrompt {
  readonly text: string
  readonly files: readonly { readonly uri: string; readonly name?: string; readonly description?: string }[]
  /** Ids of the agents and skills that it names. */
  readonly agents: readonly string[]
  readonly skills: readonly string[]
  readonly metadata: JsonMap
  readonly delivery: 'steer' | 'queue'
}

type Answer<T> = T | undefined | Promise<T | undefined>

/** Each gets a copy, and returns what to change; if it returns nothing, nothing changes. */
export interface Hooks {
  /** Before a prompt is admitted. */
  prompt(prompt: PluginPrompt, about: { readonly sessionID: string }): Answer<Partial<PluginPrompt>>
  /**
   * Called before the permission for a tool call is determined; changes the input, or refuses the call. Not called for
   * `task`.
   */
  'tool.before'(call: PluginCall): Answer<{ readonly input?: JsonMap; readonly refuse?: string }>
  /** Called after a tool call; changes the text that the model reads. Not called for `task`. */
  'tool.after'(
    call: PluginCall & { readonly failed: boolean; readonly text: string },
  ): Answer<{ readonly text: string }>
  /** Called at the beginning of each step; returns text to add after the agent's instructions. */
  instructions(step: { readonly sessionID: string; readonly agent: string }): Answer<string>
}

/** A tool call. */
export interface PluginCall {
  readonly sessionID: string
  readonly tool: string
  readonly input: JsonMap
}

/** What happens in a location. */
export interface Events {
  'agent.updated': Record<string, never>
  'skill.updated': Record<string, never>
  'plugin.updated': Record<string, never>
  /** A call of any tool except `task` has ended. */
  'tool.ended': { readonly sessionID: string; readonly callID: string; readonly tool: string; readonly failed: boolean }
}

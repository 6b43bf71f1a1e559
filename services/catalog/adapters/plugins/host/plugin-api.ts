// What a plugin is, for its author: types alone. docs/plugins.md says what holds.

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
/** A JSON object. */
export type JsonMap = { [name: string]: Json }

/** The default export of a plugin's module. */
export interface Plugin {
  /** Letters, digits, `.`, `_` and `-`, at most 64; unique in a location. */
  readonly id: string
  /** Called once in each process that the plugin works in. What it registers counts once it has resolved. */
  setup(context: PluginContext): void | Promise<void>
}

/** What `setup` works with. Everything is to be registered before it resolves. */
export interface PluginContext {
  /** The location's directory, an absolute path. */
  readonly directory: string
  /** What the configuration gives the plugin; null: nothing. */
  readonly options: Json
  tool(tool: PluginTool): void
  /** Adds an agent; `agent` is what a configuration document has below `agents`. Files of the user and the project count more. */
  agent(id: string, agent: JsonMap): void
  skill(skill: PluginSkill): void
  hook<K extends keyof Hooks>(name: K, hook: Hooks[K]): void
  /** Calls back about events of the location, as long as the plugin's process is alive: it is not started for them. */
  on<K extends keyof Events>(type: K, listener: (event: Events[K]) => void): void
}

/** A tool. */
export interface PluginTool {
  /** Letters, digits, `_` and `-`, at most 64. One that is taken gets the plugin's id in front of it. */
  readonly name: string
  readonly description: string
  /** JSON Schema of type `object`; input that it does not admit never gets here. */
  readonly inputSchema: JsonMap
  /** Action of the permission that a call needs, with the plugin's id as resource; default: the tool's name. Asks unless rules say otherwise. */
  readonly permission?: string
  /** The model reads what it returns (nothing: `(no output)`), or the message of what it throws. */
  execute(input: JsonMap, context: ToolContext): ToolResult | undefined | Promise<ToolResult | undefined>
}

/** What a tool call works with. */
export interface ToolContext {
  /** Aborts when the call is to end. A call that goes on for 5 s after that is ended together with the plugin's thread. */
  readonly signal: AbortSignal
  readonly directory: string
  readonly sessionID: string
  readonly callID: string
  /** Shows how far it is; of many reports in a short time the last one is passed on. */
  progress(metadata: JsonMap): void
}

/** A text, or pieces. */
export type ToolResult = string | { readonly content: readonly ToolPiece[]; readonly metadata?: JsonMap }

export type ToolPiece =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'file'; readonly data: string; readonly mime: string; readonly name: string }

/** Instructions for one kind of work, which a model reads when it comes to that. */
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

/** Each gets a copy, and returns what is to be changed; nothing returned: it stays as it is. */
export interface Hooks {
  /** Before a prompt is admitted. */
  prompt(prompt: PluginPrompt, about: { readonly sessionID: string }): Answer<Partial<PluginPrompt>>
  /** Before permission for a tool call is looked for: changes the input, or refuses the call. Calls of `task` are not shown. */
  'tool.before'(call: PluginCall): Answer<{ readonly input?: JsonMap; readonly refuse?: string }>
  /** After a tool call: changes the text that the model reads. Calls of `task` are not shown. */
  'tool.after'(
    call: PluginCall & { readonly failed: boolean; readonly text: string },
  ): Answer<{ readonly text: string }>
  /** At the beginning of each step: text that stands after the agent's instructions. */
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
  /** A tool call has ended, whoever's tool it is, except `task`. */
  'tool.ended': { readonly sessionID: string; readonly callID: string; readonly tool: string; readonly failed: boolean }
}

import type { JsonObject } from '#shared/json.ts'
import type { CacheControl } from './conversation.ts'

/** A tool whose input is any text. */
export interface CustomTool {
  /** `lark` or `regex`; undefined: any text. */
  readonly syntax: string | undefined
  /** The grammar of the text; only with a syntax. */
  readonly grammar: string | undefined
}

/** A group of tools. */
export interface ToolNamespace {
  readonly name: string
  readonly description: string | undefined
}

/** A function, or another tool of the caller, that the model may call. */
export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of the arguments; undefined: none. */
  readonly parameters: JsonObject | undefined
  readonly strict: boolean | undefined
  /** Undefined: it accepts JSON. */
  readonly custom?: CustomTool | undefined
  readonly namespace?: ToolNamespace | undefined
  /** Whether the model gets it only after searching for it. */
  readonly deferred?: boolean | undefined
  readonly cache?: CacheControl | undefined
}

/** A tool that the provider itself runs. */
export interface HostedTool {
  /** The kind of provider whose form it has; others do not get it. */
  readonly format: string
  /** In that provider's form, with its `type`. */
  readonly definition: JsonObject
}

/** Tools that may be called. */
export interface AllowedTools {
  /** Names of the caller's tools. */
  readonly names: readonly string[]
  /** Types of hosted tools. */
  readonly hostedTypes: readonly string[]
  /** Labels of MCP servers, which are hosted tools; the type `mcp` allows all of them. */
  readonly serverLabels: readonly string[]
}

/** What a choice allows. */
export class Allowance {
  readonly #names: ReadonlySet<unknown>
  readonly #hostedTypes: ReadonlySet<unknown>
  readonly #serverLabels: ReadonlySet<unknown>

  constructor({ names, hostedTypes, serverLabels }: AllowedTools) {
    this.#names = new Set(names)
    this.#hostedTypes = new Set(hostedTypes)
    this.#serverLabels = new Set(serverLabels)
  }

  allows({ name }: Tool): boolean {
    return this.#names.has(name)
  }

  allowsHosted({ definition: { type, server_label: label } }: HostedTool): boolean {
    return this.#hostedTypes.has(type) || (type === 'mcp' && this.#serverLabels.has(label))
  }
}

/** Whether the model calls tools, and which. */
export type ToolChoice =
  /** `allowed`: which tools of a preset are also offered; undefined: all. */
  | { readonly mode: 'auto' | 'none' | 'required'; readonly allowed?: AllowedTools | undefined }
  /** A tool of the caller or, if `hosted`, a type of tools that the provider runs. */
  | {
      readonly mode: 'named' | 'hosted'
      readonly name: string
      /** The choice in the provider's form; undefined: its type is enough. Only with `hosted`. */
      readonly definition?: JsonObject | undefined
    }

/** A call of a tool, as it is known when it begins. */
export interface Called {
  readonly callId: string
  readonly toolName: string
  /** Whether the tool is a custom one. */
  readonly custom?: boolean | undefined
  /** Namespace of the tool; undefined: none. */
  readonly namespace?: string | undefined
  /** The provider's proof of the call, if it is known by then. */
  readonly signature?: string | undefined
  /** The kind of provider that made the proof. */
  readonly format?: string | undefined
}

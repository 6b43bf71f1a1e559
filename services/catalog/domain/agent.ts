import type { JsonObject } from '#shared/json.ts'

/** Where an agent may be used: as a session's agent, by another agent, or both. */
export type AgentMode = 'primary' | 'subagent' | 'all'

/** A permission rule; `*` matches any sequence of characters, `?` matches one. The last matching rule wins. */
export interface PermissionRule {
  readonly action: string
  readonly resource: string
  readonly effect: 'allow' | 'deny' | 'ask'
}

export interface ModelRef {
  readonly modelId: string
  readonly providerId: string
  /** Undefined: the default variant. */
  readonly variant: string | undefined
}

/** What is added to requests to the provider. */
export interface RequestOverlay {
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly settings: JsonObject
}

/** A role that a session can run in. */
export interface Agent {
  readonly id: string
  readonly name: string
  readonly description: string | undefined
  readonly mode: AgentMode
  readonly hidden: boolean
  readonly color: string | undefined
  readonly system: string | undefined
  readonly model: ModelRef | undefined
  /** Undefined: no limit of its own. */
  readonly steps: number | undefined
  /** Effective rules, defaults first. */
  readonly permissions: readonly PermissionRule[]
  readonly request: RequestOverlay
}

/** An agent as one document defines it; absent members are taken from earlier documents. */
export interface AgentEntry {
  readonly name?: string
  readonly description?: string
  readonly mode?: AgentMode
  readonly hidden?: boolean
  readonly color?: string
  readonly system?: string
  readonly model?: ModelRef
  readonly steps?: number
  readonly disabled?: boolean
  readonly permissions?: readonly PermissionRule[]
  readonly request?: Partial<RequestOverlay>
}

/** What one file defines about agents. */
export interface AgentDocument {
  /** Rules for all agents. */
  readonly permissions: readonly PermissionRule[]
  readonly defaultAgent?: string
  readonly agents: ReadonlyMap<string, AgentEntry>
  /** Agents whose entries cannot be read; those that are defined elsewhere must ask before everything. */
  readonly malformed?: readonly string[]
}

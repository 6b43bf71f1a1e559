import type { AgentSet } from '../domain/agent-merge.ts'
import type { CatalogChange } from '../domain/catalog-event.ts'
import type { PluginEvent } from '../domain/plugins/registration.ts'
import type { Skill } from '../domain/skill.ts'
import type { AgentSource } from '../ports/agents.ts'
import type { InstructionSource } from '../ports/instructions.ts'
import type { PluginSource, Plugins } from '../ports/plugins.ts'
import type { SkillSource } from '../ports/skills.ts'
import type { ToolSource, Tools } from '../ports/tools.ts'

/** What a location offers at one time, by its kind. */
export interface Offered {
  readonly agents: AgentSet
  readonly skills: readonly Skill[]
  /** Instructions for every agent, most general first. */
  readonly instructions: readonly string[]
  readonly plugins: Plugins
  readonly tools: Tools
}

/** What a location offers is of these kinds. */
export type Kind = keyof Offered

/** What locations offer comes from these. */
export interface Sources {
  readonly agents: AgentSource
  readonly skills: SkillSource
  readonly instructions: InstructionSource
  readonly plugins: PluginSource
  readonly tools: ToolSource
}

/** What is offered at one time, under a name. */
export interface Generation extends Offered {
  /** The same for the same offer, in every process and whether the location was closed meanwhile or not. */
  readonly id: string
}

/** What the sources offered, by digests. */
export type Digests = Readonly<Record<Kind, string>>

/** The event that says that another one is offered than before; undefined: clients are not shown it. */
export const UPDATES: Readonly<Record<Kind, CatalogChange | undefined>> = {
  agents: { type: 'agents-updated' },
  skills: { type: 'skills-updated' },
  instructions: undefined,
  plugins: { type: 'plugins-updated' },
  tools: undefined,
}

/** What plugins know the events by. */
export const EVENTS: Readonly<Partial<Record<CatalogChange['type'], PluginEvent>>> = {
  'agents-updated': 'agent.updated',
  'skills-updated': 'skill.updated',
  'plugins-updated': 'plugin.updated',
}

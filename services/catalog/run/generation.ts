import { create } from '@bufbuild/protobuf'
import type { Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  AgentsUpdatedSchema,
  type CatalogEvent,
  PluginsUpdatedSchema,
  SkillsUpdatedSchema,
} from '#gen/portico/catalog/v1/event_pb.js'
import type { AgentSet } from '../domain/agent-merge.ts'
import type { PluginEvent } from '../domain/plugins/registration.ts'
import type { PluginSource, Plugins } from '../ports/plugins.ts'
import type { AgentSource, InstructionSource, SkillSource } from '../ports/source.ts'
import type { ToolSource, Tools } from '../ports/tools.ts'

/** What a location offers at one time, by kind. */
export interface LocationOffer {
  readonly agents: AgentSet
  readonly skills: Skill[]
  /** Instructions for every agent, most general first. */
  readonly instructions: readonly string[]
  readonly plugins: Plugins
  readonly tools: Tools
}

/** The kinds of things that a location offers. */
export const KINDS = ['agents', 'skills', 'instructions', 'plugins', 'tools'] as const satisfies (keyof LocationOffer)[]
type Kind = (typeof KINDS)[number]

/** The sources of what locations offer. */
export interface Sources {
  readonly agents: AgentSource
  readonly skills: SkillSource
  readonly instructions: InstructionSource
  readonly plugins: PluginSource
  readonly tools: ToolSource
}

/** What is offered at one time, under an id. */
export interface Generation extends LocationOffer {
  /** The same for the same offer, in every process, and even if the location was closed meanwhile. */
  readonly id: string
}

/** Digests of what the sources offered. */
export type Digests = ReadonlyMap<Kind, string>

/** The event for a change of each kind; undefined: clients are not notified. */
export const UPDATES: Readonly<Record<Kind, CatalogEvent['event'] | undefined>> = {
  agents: { case: 'agentsUpdated', value: create(AgentsUpdatedSchema) },
  skills: { case: 'skillsUpdated', value: create(SkillsUpdatedSchema) },
  instructions: undefined,
  plugins: { case: 'pluginsUpdated', value: create(PluginsUpdatedSchema) },
  tools: undefined,
}

/** The names of events for plugins. */
export const EVENTS: Readonly<Partial<Record<NonNullable<CatalogEvent['event']['case']>, PluginEvent>>> = {
  agentsUpdated: 'agent.updated',
  skillsUpdated: 'skill.updated',
  pluginsUpdated: 'plugin.updated',
}

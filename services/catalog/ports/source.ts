import type { Location, Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentSet } from '../domain/agent-merge.ts'

/** A kind of thing that locations offer, such as agents or tools. A location has an open source of each. */
export interface Source<T> {
  /**
   * Opens the source for a location. Sources that get one object as their location may share what they need. `changed`
   * is called, any number of times, when reading may return something else: soon after the change if the system reports
   * changes, later if they must be polled for.
   */
  open(location: Location, changed: () => void): OpenSource<T>
}

/** A source of one location. Disposing it ends its watches. */
export interface OpenSource<T> extends Disposable {
  /**
   * What is offered at this moment, whether or not `changed` was called. May be called again while it reads. `start`:
   * whatever must be started before the offer is known is started, and waited for, for at most some seconds; otherwise
   * the offer contains what is known.
   */
  read(start?: boolean): Promise<Offer<T>>
}

export interface Offer<T> {
  readonly value: T
  /** Different for different values, and the same for equal ones, in every process. */
  readonly digest: string
  /** Why existing configuration could not be read, so that its last content, if there is any, still applies. */
  readonly problems?: readonly string[] | undefined
}

/**
 * Knows the agents of locations: the built-in ones, and those of configuration documents and Markdown files. A file
 * that cannot be read is logged, and keeps its last content, if there is any.
 */
export type AgentSource = Source<AgentSet>

/** Knows the instructions for all agents in a location, most general first. */
export type InstructionSource = Source<readonly string[]>

/**
 * Knows the skills of locations, in order of their ids, which are unique. A file that cannot be read is logged, and
 * keeps its last content, if there is any.
 */
export type SkillSource = Source<Skill[]>

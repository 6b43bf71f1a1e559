import type { AgentSet } from '../domain/agent-merge.ts'
import type { Location } from '../domain/location.ts'

/** Knows the agents of a location: the built-in ones, and those of configuration documents and Markdown files. */
export interface Agents {
  /** What the files say now. A file that cannot be read as what it should be is logged and skipped. */
  list(location: Location): Promise<AgentSet>
}

import type { AgentSet } from '../domain/agent-merge.ts'
import type { Source } from './source.ts'

/**
 * Knows the agents of locations: the built-in ones, and those of configuration documents and Markdown files. A file that
 * cannot be read as what it should be is logged, and counts as it was when it was last read, else not at all.
 */
export type AgentSource = Source<AgentSet>

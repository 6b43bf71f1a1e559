import type { AgentSet } from '../domain/agent-merge.ts'
import type { Source } from './source.ts'

/**
 * Knows the agents of locations: the built-in ones, and those of configuration documents and Markdown files. A file
 * that cannot be read is logged, and keeps its last content, if there is any.
 */
export type AgentSource = Source<AgentSet>

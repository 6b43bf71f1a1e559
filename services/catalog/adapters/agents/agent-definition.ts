import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { type AgentSet, mergeAgents } from '#services/catalog/domain/agent-merge.ts'
import type { Definition } from '../definitions/file-source.ts'
import { type AgentFile, findAgentFiles } from './agent-files.ts'
import { readAgentFile } from './read-agent-file.ts'

/** Agents are defined by configuration documents and Markdown files (instance facts 3.12). `home`: for `~` in rules. */
export function agentFiles(configDirectory: string, home: string): Definition<AgentFile, AgentDocument, AgentSet> {
  return {
    name: 'An agent file',
    find: (location) => findAgentFiles(configDirectory, location),
    parse: readAgentFile,
    merge: (documents) => mergeAgents(documents, home),
  }
}

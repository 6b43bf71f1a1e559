import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import type { Definition } from '../definitions/file-source.ts'
import { type AgentFile, findAgentFiles } from './agent-files.ts'
import { readAgentFile } from './read-agent-file.ts'

/** Agents are defined in configuration documents and Markdown files. */
export function agentFiles(configDirectory: string): Definition<AgentFile, AgentDocument, readonly AgentDocument[]> {
  return {
    name: 'A configuration file',
    find: (location) => findAgentFiles(configDirectory, location),
    parse: readAgentFile,
    isConfiguration: ({ kind }) => kind === 'config',
    merge: (documents) => documents,
  }
}

import { Agent_Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { readConfigDocument, readMarkdownAgent } from '#services/catalog/domain/agent-document.ts'
import { MAX_DOCUMENT_BYTES, parseDocument } from '../configuration/parse-document.ts'
import { readMarkdown } from '../definitions/read-markdown.ts'
import { readBounded } from '../files/read-bounded.ts'
import type { AgentFile } from './agent-files.ts'

const MAX_MARKDOWN_BYTES = 256 << 10

/**
 * Reads a file that defines agents: a JSON document of at most 1 MiB, or a Markdown file of at most 256 KiB with a
 * front matter of at most 16 KiB. Malformed parts are left out and reported to `onProblem`; throws if the file cannot
 * be used at all.
 */
export async function readAgentFile(
  { path, kind, id }: AgentFile,
  onProblem: (problem: string) => void,
): Promise<AgentDocument> {
  if (kind === 'config') {
    return readConfigDocument(parseDocument((await readBounded(path, MAX_DOCUMENT_BYTES)).toString()), onProblem)
  }
  const { fields, body } = await readMarkdown(path, MAX_MARKDOWN_BYTES)
  const entry = readMarkdownAgent(fields, body, kind === 'mode' ? Agent_Mode.PRIMARY : undefined)
  return { permissions: [], agents: new Map([[id, entry]]) }
}

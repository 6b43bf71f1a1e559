import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { DocumentError, readConfigDocument, readMarkdownAgent } from '#services/catalog/domain/agent-document.ts'
import { splitFrontMatter } from '#services/catalog/domain/front-matter.ts'
import { MAX_DOCUMENT_BYTES, parseDocument } from '../configuration/parse-document.ts'
import { readBounded } from '../files/read-bounded.ts'
import type { AgentFile } from './agent-files.ts'

const MAX_MARKDOWN_BYTES = 256 << 10
/** Characters; the time to parse YAML grows with their square, to 20 s for 256 KiB of quotes. */
const MAX_MATTER = 16 << 10

/**
 * Reads a file that defines agents: a JSON document of at most 1 MiB, or a Markdown file of at most 256 KiB, its front
 * matter of at most 16 KiB. Parts that are
 * malformed are left out and reported to `onProblem`; throws when nothing can be made of the file.
 */
export async function readAgentFile(
  { path, kind, id }: AgentFile,
  onProblem: (problem: string) => void,
): Promise<AgentDocument> {
  if (kind === 'config') {
    return readConfigDocument(parseDocument((await readBounded(path, MAX_DOCUMENT_BYTES)).toString()), onProblem)
  }
  const { matter, body } = splitFrontMatter((await readBounded(path, MAX_MARKDOWN_BYTES)).toString())
  if (matter.length > MAX_MATTER) throw new DocumentError(`the front matter has more than ${MAX_MATTER} characters`)
  // Many projects have no such file.
  const { parse: parseYaml } = await import('yaml')
  const entry = readMarkdownAgent(parseYaml(matter), body, kind === 'mode' ? 'primary' : undefined)
  return { permissions: [], agents: new Map([[id, entry]]) }
}

import { join } from 'node:path'
import { Agent_Mode, type Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { readConfigDocument, readMarkdownAgent } from '#services/catalog/domain/agent-document.ts'
import { DOCUMENT_NAMES, levelsOf } from '../configuration/find-documents.ts'
import { MAX_DOCUMENT_BYTES, parseDocument } from '../configuration/parse-document.ts'
import { type ExistingFile, entriesOf, findFile } from '../files/find-file.ts'
import { readBounded } from '../files/read-bounded.ts'
import type { WatchedPlaces } from '../watch/place-watch.ts'
import type { Definition } from './file-source.ts'
import { readMarkdown } from './read-markdown.ts'

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

interface AgentFile extends ExistingFile {
  /** `config`: a JSON document; `agent`, `mode`: a Markdown file, where `mode` is always a primary agent. */
  readonly kind: 'config' | 'agent' | 'mode'
  /** Id of the agent in a Markdown file. */
  readonly id: string
}

/**
 * The files that were found, and where they were looked for: whoever writes to the target of a link among the places
 * defines agents.
 */
interface AgentFiles extends WatchedPlaces {
  readonly files: readonly AgentFile[]
}

const MAX_FILES = 1000
const MAX_DEPTH = 8

/**
 * Finds the files that define agents for a location, lowest precedence first: the global configuration directory; the
 * documents of the project, from its root down to the location; the `.opencode` directories in the same order. A link
 * out of the project is not followed. At most 1,000 Markdown files per directory, at most 8 levels deep. Throws if the
 * system has no descriptors left.
 */
export async function findAgentFiles(configDirectory: string, location: Location): Promise<AgentFiles> {
  const project = location.projectDirectory
  const levels = levelsOf(location)
  const global = new Search(undefined)
  const local = new Search(project)
  const files = [
    await global.filesOf(configDirectory),
    ...(await Promise.all(levels.map((level) => local.documentsOf(level)))),
    ...(await Promise.all(levels.map((level) => local.filesOf(join(level, '.opencode'))))),
  ]
  return {
    files: files.flat(),
    places: [...global.places, ...local.places],
    folders: [...global.folders, ...local.folders],
  }
}

/** Searches for files, of which only those within a directory count, and records where it searched. */
class Search {
  readonly places: string[] = []
  readonly folders: string[] = []
  readonly #within: string | undefined

  constructor(within: string | undefined) {
    this.#within = within
  }

  async filesOf(directory: string): Promise<AgentFile[]> {
    this.places.push(directory)
    const markdown = (['agent', 'agents', 'mode', 'modes'] as const).map((name) =>
      this.#markdownOf(join(directory, name), name.startsWith('mode') ? 'mode' : 'agent'),
    )
    return (await Promise.all([this.documentsOf(directory), ...markdown])).flat()
  }

  async documentsOf(directory: string): Promise<AgentFile[]> {
    return (await Promise.all(DOCUMENT_NAMES.map((name) => this.#describe(join(directory, name), 'config', '')))).flat()
  }

  async #markdownOf(directory: string, kind: 'agent' | 'mode'): Promise<AgentFile[]> {
    const ids: string[] = []
    await this.#collect(directory, '', kind === 'mode' ? 1 : MAX_DEPTH, ids)
    const files = ids.sort().map((id) => this.#describe(join(directory, `${id}.md`), kind, id))
    return (await Promise.all(files)).flat()
  }

  async #collect(directory: string, prefix: string, depth: number, ids: string[]): Promise<void> {
    this.places.push(directory)
    this.folders.push(directory)
    for (const entry of await entriesOf(directory)) {
      if (ids.length >= MAX_FILES) return
      if (entry.isDirectory() && depth > 1) {
        await this.#collect(join(directory, entry.name), `${prefix}${entry.name}/`, depth - 1, ids)
      } else if (!entry.isDirectory() && entry.name.endsWith('.md')) {
        ids.push(prefix + entry.name.slice(0, -'.md'.length))
      }
    }
  }

  async #describe(path: string, kind: AgentFile['kind'], id: string): Promise<AgentFile[]> {
    this.places.push(path)
    const file = await findFile(path, this.#within)
    return file === undefined ? [] : [{ ...file, kind, id }]
  }
}

const MAX_MARKDOWN_BYTES = 256 << 10

/**
 * Reads a file that defines agents: a JSON document of at most 1 MiB, or a Markdown file of at most 256 KiB with a
 * front matter of at most 16 KiB. Malformed parts are left out and reported to `onProblem`; throws if the file cannot
 * be used at all.
 */
async function readAgentFile(
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
